#include "stager/daemon/tree/link_dialer.h"

#include "stager/config/config.h"
#include "stager/link/listener.h"
#include "tests/unit/daemon/run_until.h"
#include "tests/unit/link/link_world.h"

#include <catch2/catch.hpp>

#include <sys/epoll.h>

namespace stage {
namespace {

/// A daemon's dialler, and the listener of n1, which accepts what it dials.
struct Dialled {
    Dialled() : loop{opened()} {
        policy.node_name = "n0";
        theirs.node_name = "n1";
        auto opened_listener = Listener::open(0, theirs, munge, quiet);
        REQUIRE(opened_listener);
        listener.emplace(std::move(*opened_listener));
        config.port = listener->port();
        REQUIRE(loop.watch(listener->fd(), EPOLLIN, [this](auto) {
            for (auto& link : listener->accept(loop.now())) {
                accepted.push_back(std::move(link));
            }
        }));
    }
    Dialled(const Dialled&) = delete;
    Dialled& operator=(const Dialled&) = delete;
    ~Dialled() { loop.forget(listener->fd()); }

    static Loop opened() {
        auto loop = Loop::open();
        REQUIRE(loop);
        return std::move(*loop);
    }

    Loop loop;
    Config config;
    LinkPolicy policy;
    LinkPolicy theirs;
    FalseMunge munge;
    Logger quiet{[](LogLevel, std::string_view) {}, LogLevel::error};
    std::optional<Listener> listener;
    std::vector<std::unique_ptr<Link>> accepted;
    LinkDialer dialer{loop, config, policy, munge};
};

TEST_CASE("a link is opened to the daemon's port at a numeric address only") {
    Dialled one;

    CHECK_FALSE(one.dialer.dial("n1", "n1.cluster", [] {}));
    CHECK_FALSE(one.dialer.dial("n1", "", [] {}));
    const auto link = one.dialer.dial("n1", "127.0.0.1", [] {});
    REQUIRE(link);
    CHECK((*link)->link().peer_name() == "n1");
    run_until(one.loop, [&] { return !one.accepted.empty(); });
}

TEST_CASE("a prepared link is taken by one dial, and only while its peer waits") {
    Dialled one;
    one.dialer.prepare("n1", "127.0.0.1");
    run_until(one.loop, [&] { return one.accepted.size() == 1; });
    const auto taken = one.dialer.dial("n1", "127.0.0.1", [] {});
    REQUIRE(taken);
    const auto second = one.dialer.dial("n1", "127.0.0.1", [] {});
    REQUIRE(second);
    run_until(one.loop, [&] { return one.accepted.size() == 2; });
    CHECK(one.accepted.size() == 2);  // The second one only.
    // One that is not wanted is closed.
    one.dialer.prepare("n1", "127.0.0.1");
    one.dialer.discard("n1", "127.0.0.1");
    one.dialer.discard("n1", "127.0.0.1");
}

}  // namespace
}  // namespace stage
