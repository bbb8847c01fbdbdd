// Tests that two daemons with one link version and different message versions report that.
#include "stager/daemon/incoming.h"
#include "stager/daemon/tree/stage_links.h"
#include "stager/link/listener.h"
#include "tests/unit/daemon/services_world.h"
#include "tests/unit/root.h"
#include "tests/unit/spawn/spawn_world.h"

#include <catch2/catch.hpp>

#include <sys/epoll.h>

using namespace stage;

namespace {

/// PULSE, as the next make of stagecastd may say it.
std::vector<std::byte> of_another_version() {
    auto bytes = encode(PulseMessage{});
    bytes.at(0) = static_cast<std::byte>(kTreeVersion + 1);
    return bytes;
}

class Owner final : public StageLinksOwner {
  public:
    void on_link_up(Rank /*rank*/) override {}
    void on_link_down(Rank /*rank*/, const Error& why) override { lost = why.sentence(); }
    void on_link_message(Rank /*rank*/, TreeMessage /*message*/) override {}
    void on_links_gone() override {}

    std::string lost;
};

}  // namespace

TEST_CASE("a link over which another version speaks is lost for that, and not for its end",
          "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world;
    const Logger quiet{[](LogLevel, std::string_view) {}, LogLevel::error};
    LinkPolicy theirs;
    theirs.node_name = "n1";
    auto listener = Listener::open(0, theirs, world.munge, quiet);
    REQUIRE(listener);
    std::unique_ptr<DrivenLink> other;
    REQUIRE(world.loop().watch(listener->fd(), EPOLLIN, [&](auto) {
        for (auto& link : listener->accept(world.loop().now())) {
            other = std::make_unique<DrivenLink>(world.loop(), std::move(link), [] {});
            other->send(of_another_version());
            other->finish();
        }
    }));
    Owner owner;
    StageLinks links{world.services->basics, world.services->dialer, owner};
    world.config.port = listener->port();
    REQUIRE(links.connect(Rank{1}, "n1", "127.0.0.1"));
    world.run_until([&] { return !owner.lost.empty(); });
    CHECK_THAT(owner.lost,
               Catch::Contains("uses version 2 of the tree's messages") &&
                   Catch::Contains("install the same stagecast on all nodes"));
    world.loop().forget(listener->fd());
}

TEST_CASE("a daemon with messages of another version receives ours, and reports the version",
          "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world;
    world.config.port = 0;
    auto incoming = Incoming::open(world.services->basics, world.links, world.munge, {});
    REQUIRE(incoming);
    LinkPolicy theirs;
    theirs.node_name = "n1";
    auto link = Link::connect(
        theirs, world.munge, "n0", loopback((*incoming)->port()), world.loop().now());
    REQUIRE(link->send(of_another_version()));
    std::optional<std::vector<std::byte>> heard;
    DrivenLink other{world.loop(), std::move(link), [] {}};
    other.set_on_change([&] {
        if (const auto frame = other.link().receive()) {
            heard = *frame;
        }
    });
    world.run_until([&] { return other.link().state() == Link::State::closed; });
    REQUIRE(heard);
    CHECK(decode_tree_message(*heard));
}
