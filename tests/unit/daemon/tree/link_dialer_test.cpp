#include "stager/daemon/tree/link_dialer.h"

#include "stager/config/config.h"
#include "stager/link/listener.h"
#include "tests/unit/daemon/run_until.h"
#include "tests/unit/link/link_world.h"

#include <catch2/catch.hpp>

#include <sys/epoll.h>

namespace stage {
namespace {

struct Dialled {
    Dialled() : loop{opened()} { policy.node_name = "n0"; }

    static Loop opened() {
        auto loop = Loop::open();
        REQUIRE(loop);
        return std::move(*loop);
    }

    Loop loop;
    Config config;
    LinkPolicy policy;
    FalseMunge munge;
    LinkDialer dialer{loop, config, policy, munge};
};

TEST_CASE("a link is opened to the daemon's port at a numeric address only") {
    Dialled one;
    const Logger quiet{[](LogLevel, std::string_view) {}, LogLevel::error};
    LinkPolicy theirs;
    theirs.node_name = "n1";
    auto listener = Listener::open(0, theirs, one.munge, quiet);
    REQUIRE(listener);
    one.config.port = listener->port();

    CHECK_FALSE(one.dialer.dial("n1", "n1.cluster", [] {}));
    CHECK_FALSE(one.dialer.dial("n1", "", [] {}));
    const auto link = one.dialer.dial("n1", "127.0.0.1", [] {});
    REQUIRE(link);
    CHECK((*link)->link().peer_name() == "n1");
    std::vector<std::unique_ptr<Link>> accepted;
    REQUIRE(one.loop.watch(listener->fd(), EPOLLIN, [&](auto) {
        for (auto& accepted_link : listener->accept(one.loop.now())) {
            accepted.push_back(std::move(accepted_link));
        }
    }));
    run_until(one.loop, [&] { return !accepted.empty(); });
    one.loop.forget(listener->fd());
}

TEST_CASE("a prepared link is taken by one dial, and only while its peer waits") {
    Dialled one;
    const Logger quiet{[](LogLevel, std::string_view) {}, LogLevel::error};
    LinkPolicy theirs;
    theirs.node_name = "n1";
    auto listener = Listener::open(0, theirs, one.munge, quiet);
    REQUIRE(listener);
    one.config.port = listener->port();
    std::vector<std::unique_ptr<Link>> accepted;
    REQUIRE(one.loop.watch(listener->fd(), EPOLLIN, [&](auto) {
        for (auto& accepted_link : listener->accept(one.loop.now())) {
            accepted.push_back(std::move(accepted_link));
        }
    }));
    one.dialer.prepare("n1", "127.0.0.1");
    run_until(one.loop, [&] { return accepted.size() == 1; });
    const auto taken = one.dialer.dial("n1", "127.0.0.1", [] {});
    REQUIRE(taken);
    const auto second = one.dialer.dial("n1", "127.0.0.1", [] {});
    REQUIRE(second);
    run_until(one.loop, [&] { return accepted.size() == 2; });
    CHECK(accepted.size() == 2);  // The second one only.
    // One that is not wanted is closed.
    one.dialer.prepare("n1", "127.0.0.1");
    one.dialer.discard("n1", "127.0.0.1");
    one.dialer.discard("n1", "127.0.0.1");
    one.loop.forget(listener->fd());
}

}  // namespace
}  // namespace stage
