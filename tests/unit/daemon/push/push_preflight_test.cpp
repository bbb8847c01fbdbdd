// Tests that a push gets one answer of each node, in whatever form it arrives.
#include "stager/daemon/push/push_preflight.h"

#include "tests/unit/daemon/false_node.h"
#include "tests/unit/daemon/services_world.h"
#include "tests/unit/root.h"

#include <catch2/catch.hpp>

#include <poll.h>
#include <sys/epoll.h>

namespace stage {
namespace {

const ExaminedMessage kWould{.sentence = {}, .bytes = 7, .digest = {}};

}  // namespace

TEST_CASE("an answer behind other frames is heard", "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world;
    FalseNode node{world, {PulseMessage{}, PulseMessage{}, PulseMessage{}, kWould}};
    world.config.port = node.port();
    PushPreflight preflight{world.services->basics, world.services->dialer};
    std::vector<Result<ExaminedMessage>> heard;
    bool is_done = false;
    preflight.ask(
        {{.name = "n3", .address = "127.0.0.1"}},
        ExamineMessage{},
        [&](std::size_t, const Result<ExaminedMessage>& answer) { heard.push_back(answer); },
        [&] { is_done = true; });
    world.run_until([&] { return is_done; });
    REQUIRE(heard.size() == 1);
    INFO((heard[0] ? "" : heard[0].error().sentence()));
    REQUIRE(heard[0]);
    CHECK(*heard[0] == kWould);
}

TEST_CASE("a node that has answered does not fall silent any more", "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world;
    FalseNode node{world, {kWould}};
    world.config.port = node.port();
    // Silence begins half a second after the question: while its answer is being taken.
    world.config.connect_timeout = std::chrono::milliseconds{-2500};
    PushPreflight preflight{world.services->basics, world.services->dialer};
    int heard = 0;
    bool is_done = false;
    preflight.ask(
        {{.name = "n3", .address = "127.0.0.1"}},
        ExamineMessage{},
        [&](std::size_t, const Result<ExaminedMessage>&) {
            ++heard;
            const Instant begun = world.loop().now();
            while (std::chrono::steady_clock::now().time_since_epoch() -
                       begun.time_since_epoch() <
                   std::chrono::milliseconds{600}) {
                ::poll(nullptr, 0, 10);
            }
        },
        [&] { is_done = true; });
    world.run_until([&] { return is_done; });
    world.run_until([&] { return true; });
    CHECK(heard == 1);
}

}  // namespace stage
