// Does a daemon know which neighbours it has, and from when on one is lost?
#include "stager/daemon/group/neighbour_links.h"

#include "tests/unit/daemon/group/parts_world.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

using namespace std::chrono_literals;
using Side = NeighbourLinks::Side;

const Error kClosed{Blame::node, "connection closed"};

}  // namespace

TEST_CASE("only an ancestor becomes the parent, and it takes the place of the last one") {
    const GroupSeat seat = seat_of_seven(Rank{3});
    NeighbourLinks links{seat, {}, kBegin};
    CHECK(links.is_without_parent());
    CHECK_FALSE(links.take_parent(kBegin, Rank{2}));
    CHECK(links.take_parent(kBegin, Rank{1}));
    CHECK(links.on_heard(kBegin, Rank{1}) == Side::above);
    CHECK(links.take_parent(kBegin, Rank{0}));
    CHECK(links.on_heard(kBegin, Rank{1}) == Side::none);
    CHECK(links.on_heard(kBegin, Rank{0}) == Side::above);
    links.send_above(SettledMessage{});
    const auto commands = links.take_commands();
    REQUIRE(commands.size() == 2);
    CHECK(std::get<group::Hangup>(commands[0]).to == Rank{1});
    CHECK(std::get<group::Send>(commands[1]).to == Rank{0});
}

TEST_CASE("a node connects to its children, and to those of a child that it loses") {
    const GroupSeat seat = seat_of_seven(Rank{0});
    NeighbourLinks links{seat, {}, kBegin};
    links.connect();
    CHECK(links.take_commands().size() == 2);
    REQUIRE(links.on_up(kBegin, Rank{1}));
    CHECK_FALSE(links.on_up(kBegin, Rank{5}));
    CHECK(links.on_heard(kBegin, Rank{1}) == Side::below);
    CHECK(links.on_heard(kBegin, Rank{2}) == Side::none);
    links.on_down(kBegin, Rank{1}, kClosed, false);
    const auto lost = links.take_lost();
    REQUIRE(lost.size() == 1);
    CHECK(links.sentence_of(lost[0]) == "connection closed");
    CHECK(links.kept() == std::vector{Rank{2}, Rank{3}, Rank{4}});
    links.connect();
    CHECK(links.take_commands().size() == 2);
}

TEST_CASE("a parent that is silent is lost, and the node is an orphan later") {
    NeighboursWorld world{Rank{1}};
    const Instant silent = kBegin + GroupTimes{}.branch.silence_max;
    CHECK(world.links.deadline(false) == silent);
    world.links.check_parent(silent - 1ms);
    CHECK(world.links.has_parent());
    SECTION("unless this daemon did not run meanwhile") {
        world.links.excuse(10s);
        world.links.check_parent(silent);
        CHECK(world.links.has_parent());
    }
    SECTION("as soon as the time is over") {
        world.links.check_parent(silent);
        CHECK(world.taken<group::Hangup>().size() == 1);
        CHECK_FALSE(world.links.is_orphan(silent));
        CHECK(world.links.is_orphan(silent + GroupTimes{}.orphan_max()));
    }
    SECTION("sooner, where the root itself has closed the link") {
        world.links.on_down(kBegin, Rank{0}, kClosed, false);
        CHECK(world.links.is_orphan(kBegin + GroupTimes{}.rootless_max()));
    }
}

TEST_CASE("after a pause the links that close count only if a parent is left") {
    NeighboursWorld world{Rank{1}, true};
    world.links.doubt(kBegin, 1s);
    CHECK_FALSE(world.links.is_doubt_over(kBegin + 10s));  // Too short to be missed.
    world.links.doubt(kBegin, 20s);
    world.links.on_down(kBegin, Rank{3}, kClosed, false);
    CHECK(world.links.take_lost().empty());
    REQUIRE(world.links.is_doubt_over(kBegin + 2s));
    const bool is_left = GENERATE(true, false);
    if (!is_left) {
        world.links.on_down(kBegin, Rank{0}, kClosed, false);
    }
    CHECK(world.links.end_doubt(kBegin + 2s, false) == 20s);
    CHECK(world.links.take_lost().size() == (is_left ? 1 : 0));
}

}  // namespace stage
