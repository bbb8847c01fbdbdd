#include "stager/daemon/group/group.h"

#include "tests/unit/daemon/group_world.h"

#include <catch2/catch.hpp>

#include <functional>

using namespace stage;
using namespace std::chrono_literals;

namespace {

constexpr Instant kGroupStart{};
constexpr Instant kGroupEnd = kGroupStart + 300s;

/// All who can hear the root have said the same, and it is this.
GroupVerdict verdict_of_all(const GroupWorld& world) {
    std::optional<GroupVerdict> common;
    for (std::size_t rank = 0; rank < world.size(); ++rank) {
        if (!world.reachable(rank)) {
            continue;
        }
        CAPTURE(rank);
        REQUIRE(world.node(rank).group);
        REQUIRE(world.node(rank).group->verdict());
        const GroupVerdict& verdict = *world.node(rank).group->verdict();
        CHECK(world.node(rank).group->is_finished());
        common = common.value_or(verdict);
        CAPTURE(common->sentence, verdict.sentence);
        CHECK(*common == verdict);
    }
    REQUIRE(common);
    return *common;
}

void announce_all(GroupWorld& world) {
    for (std::size_t rank = 0; rank < world.size(); ++rank) {
        world.at(kGroupStart + 1ms * world.prng().below(200),
                 [&world, rank] { world.announce(rank); });
    }
}

}  // namespace

TEST_CASE("a group in which nothing fails agrees on ok, and hangs up") {
    const auto size = GENERATE(1U, 2U, 3U, 7U, 20U, 40U);
    const auto width = GENERATE(1U, 2U, 16U);
    const auto seed = GENERATE(range(1U, 4U));
    CAPTURE(size, width, seed);
    GroupWorld world{size, width, seed};
    announce_all(world);
    world.start(kGroupStart + 50ms, 100s);
    world.run(kGroupEnd);

    CHECK(verdict_of_all(world).state == VerdictState::ok);
    CHECK(world.links() == 0);
    CHECK(world.node(0).outcomes.size() == size);
    for (std::size_t rank = 0; rank < size; ++rank) {
        const auto& fence = world.node(rank).fence;
        REQUIRE(fence.size() == 2 * size);
        for (std::size_t i = 0; i < size; ++i) {
            CHECK(fence[2 * i] == static_cast<std::byte>(i));  // In rank order.
        }
    }
}

TEST_CASE("one node's failure is the verdict of all nodes, at once") {
    const auto seed = GENERATE(range(1U, 20U));
    CAPTURE(seed);
    GroupWorld world{13, 2, seed};
    announce_all(world);
    world.start(kGroupStart, 100s);
    const std::size_t victim = world.prng().below(13);
    world.at(kGroupStart + 230ms, [&] { world.fail(victim, "/x: No space left on device"); });
    world.run(kGroupEnd);

    const GroupVerdict verdict = verdict_of_all(world);
    if (verdict.state != VerdictState::ok) {  // The others may have been faster.
        CHECK(verdict.sentence ==
              "node n" + std::to_string(victim) + ": /x: No space left on device");
        CHECK(verdict.blame == Blame::user);
    }
    CHECK(world.links() == 0);
}

TEST_CASE("contributions that together exceed a message fail the group") {
    const bool direct = GENERATE(false, true);
    const std::size_t width = GENERATE(2U, 16U);  // At rank 1 already; at the root.
    CAPTURE(direct, width);
    GroupWorld world{1100, width, 1};
    world.say(direct ? Collective::cards : Collective::fence, width == 2 ? 8192 : 4096);
    announce_all(world);
    world.start(kGroupStart + 50ms, 100s);
    world.run(kGroupEnd);

    const GroupVerdict verdict = verdict_of_all(world);
    CHECK(verdict.state == VerdictState::failed);
    CHECK(verdict.blame == Blame::user);
    CHECK_THAT(verdict.sentence, Catch::Contains("too long for one message"));
    CHECK(world.longest() <= kFrameMax);
}

TEST_CASE("two nodes that fail differently are both named") {
    const auto seed = GENERATE(range(1U, 20U));
    CAPTURE(seed);
    GroupWorld world{9, 2, seed};
    world.start(kGroupStart, 100s);
    world.at(kGroupStart + 900ms, [&] { world.fail(7, "disk full"); });
    world.at(kGroupStart + 1200ms, [&] { world.fail(3, "no permission"); });
    world.run(kGroupEnd);
    CHECK(verdict_of_all(world).sentence ==
          "node n3: no permission (and 1 more node: n7: disk full)");
    CHECK(*world.node(0).settled_at <= kGroupStart + 2200ms);
}

TEST_CASE("a daemon that does not run is named, and those below it learn the verdict") {
    const auto dead = GENERATE(range(1U, 15U));
    const bool silent = GENERATE(false, true);
    CAPTURE(dead, silent);
    GroupWorld world{15, 2, dead};
    announce_all(world);
    world.at(kGroupStart, [&] { silent ? world.cut(dead) : world.kill(dead); });
    world.start(kGroupStart + 1ms, 100s);
    world.run(kGroupEnd);

    const GroupVerdict verdict = verdict_of_all(world);
    CHECK(verdict.state == VerdictState::failed);
    CHECK(verdict.blame == Blame::node);
    const std::string name = std::to_string(dead);
    CHECK(verdict.sentence ==
          "node n" + name +
              (silent ? ": stagecastd does not answer at 10.0.0." + name +
                            ":6829; is it running there, and does a firewall block Port?"
                      : ": Connection refused"));
    for (std::size_t rank = 0; rank < 15; ++rank) {
        if (world.reachable(rank)) {
            CHECK(*world.node(rank).settled_at <= kGroupStart + 8s);
        }
    }
}

TEST_CASE("a link that is reset while files are on their way is made once more") {
    const auto seed = GENERATE(range(1U, 60U));
    const bool drops = GENERATE(false, true);
    CAPTURE(seed, drops);
    GroupWorld world{13, 2, seed};
    if (drops) {
        world.drop_failed();
    }
    announce_all(world);
    world.start(kGroupStart, 100s);
    const std::size_t victim = 1 + world.prng().below(12);
    bool is_reset = false;
    // As soon as the node above knows that all listen: from then on nothing but outcomes, the
    // verdict and its acknowledgement can be on its way.
    const auto later = 1ms * world.prng().below(400);
    std::function<void()> look = [&] {
        const std::size_t above = (victim - 1) / 2;
        if (world.node(above).all_listen && !is_reset) {
            is_reset = true;
            world.at(world.now() + later, [&] { world.reset(victim); });
        } else if (!is_reset) {
            world.at(world.now() + 1ms, look);
        }
    };
    world.at(kGroupStart + 1ms, look);
    world.run(kGroupEnd);
    CHECK(is_reset);
    const GroupVerdict verdict = verdict_of_all(world);
    CAPTURE(verdict.sentence);
    CHECK(verdict.state == VerdictState::ok);
    CHECK(verdict.dropped.empty());
    CHECK(world.links() == 0);
    CHECK(*world.node(0).settled_at <= kGroupStart + 10s);
}

TEST_CASE("a chain of dead daemons delays the verdict, and changes nothing else") {
    GroupWorld world{15, 2, 1};
    for (const std::size_t dead : {1U, 3U, 4U}) {
        world.kill(dead);
    }
    announce_all(world);
    world.start(kGroupStart, 100s);
    world.run(kGroupEnd);
    const GroupVerdict verdict = verdict_of_all(world);
    CHECK(verdict.state == VerdictState::failed);
    CHECK_THAT(verdict.sentence, Catch::Equals("node n1: Connection refused"));
    CHECK(world.links() == 0);
}

TEST_CASE("a node that never announces costs the stage, not for ever") {
    GroupWorld world{4, 2, 3};
    for (const std::size_t rank : {0U, 1U, 2U}) {
        world.announce(rank);
    }
    world.start(kGroupStart, 20s);
    world.run(kGroupEnd);
    const GroupVerdict verdict = verdict_of_all(world);
    CHECK(verdict.state == VerdictState::failed);
    CHECK(verdict.sentence == "node n0: the stage was not done within StageTimeout");
    CHECK(*world.node(3).settled_at <= kGroupStart + 21s);
}

TEST_CASE("a node that the others wait for is named when the time is over") {
    GroupWorld world{4, 16, 3};
    for (const std::size_t rank : {0U, 1U, 3U}) {
        world.announce(rank);
    }
    world.start(kGroupStart, 20s);
    world.at(kGroupStart + 18s, [&] { world.time_is_over(0); });
    world.run(kGroupEnd);
    CHECK(verdict_of_all(world).sentence == "node n2: did not do its part");
}

TEST_CASE("nodes die and vanish at any moment: all who can hear the root agree, in time") {
    const auto seed = GENERATE(range(1U, 400U));
    CAPTURE(seed);
    Prng draw{seed};
    const std::size_t size = 2 + draw.below(30);
    GroupWorld world{size, 1 + draw.below(4), seed};
    announce_all(world);
    const std::size_t faults = draw.below(4);
    bool any = false;
    for (std::size_t i = 0; i < faults && size > 1; ++i) {
        const std::size_t victim = 1 + draw.below(size - 1);
        const Instant when = kGroupStart + 1ms * draw.below(1500);
        const std::uint64_t kind = draw.below(3);
        any = true;
        world.at(when, [&world, victim, kind] {
            if (kind == 0) {
                world.kill(victim);
            } else if (kind == 1) {
                world.cut(victim);
            } else {
                world.fail(victim, "disk full");
            }
        });
    }
    world.start(kGroupStart, 200s);  // Longer than a daemon may be silent, several times.
    world.run(kGroupStart + 300s);

    const GroupVerdict verdict = verdict_of_all(world);
    if (!any) {
        CHECK(verdict.state == VerdictState::ok);
    }
    for (std::size_t rank = 0; rank < size; ++rank) {
        if (!world.node(rank).dead && world.node(rank).group) {
            CAPTURE(rank);
            REQUIRE(world.node(rank).settled_at);
            CHECK(*world.node(rank).settled_at <= kGroupStart + 202s);
        }
    }
}

TEST_CASE("a wire-up that one node has lost begins anew on all") {
    const auto seed = GENERATE(range(1U, 40U));
    CAPTURE(seed);
    Prng draw{seed};
    GroupWorld world{9, 2, seed};
    announce_all(world);
    for (std::size_t i = draw.below(3) + 1; i > 0; --i) {
        const std::size_t who = draw.below(9);
        world.at(kGroupStart + 1ms * draw.below(700),
                 [&world, who] { world.lose_wire_up(who); });
    }
    world.start(kGroupStart, 60s);
    world.run(kGroupEnd);

    const GroupVerdict verdict = verdict_of_all(world);
    if (verdict.state == VerdictState::failed) {  // Some node was done by then.
        CHECK_THAT(verdict.sentence, Catch::Contains("the wire-up was lost"));
    }
    CHECK(*world.node(0).settled_at <= kGroupStart + 4s);
    CHECK(world.links() == 0);
}

TEST_CASE("before anybody is done, a lost wire-up costs no stage") {
    const auto who = GENERATE(range(0U, 9U));
    CAPTURE(who);
    GroupWorld world{9, 2, 7};
    announce_all(world);
    world.at(kGroupStart + 100ms, [&] { world.lose_wire_up(who); });
    world.start(kGroupStart, 60s);
    world.run(kGroupEnd);
    CHECK(verdict_of_all(world).state == VerdictState::ok);
    CHECK(world.node(8).epoch.cards_follow);
}

TEST_CASE("the root dies: every node finds its own end, by a bound") {
    const auto when = GENERATE(60, 150, 300, 1000);
    CAPTURE(when);
    GroupWorld world{10, 2, 5};
    announce_all(world);
    world.at(kGroupStart + 1ms * when, [&] { world.kill(0); });
    world.start(kGroupStart, 60s);
    world.run(kGroupEnd);
    for (std::size_t rank = 1; rank < world.size(); ++rank) {
        if (world.node(rank).group) {
            CAPTURE(rank);
            REQUIRE(world.node(rank).settled_at);
            CHECK(*world.node(rank).settled_at <=
                  kGroupStart + 1ms * when + 3 * BranchTimes{}.connect_max + 2s);
        }
    }
}

TEST_CASE("a port that a member can't open is drawn again, until all can open it") {
    const auto seed = GENERATE(range(1U, 60U));
    CAPTURE(seed);
    Prng draw{seed};
    const std::size_t size = 2 + draw.below(20);
    GroupWorld world{size, 1 + draw.below(4), seed};
    announce_all(world);
    world.take_ports(draw.below(size), {1, 2});
    world.take_ports(draw.below(size), {1, 3, 5});
    world.start(kGroupStart, 60s);
    world.run(kGroupEnd);
    CHECK(verdict_of_all(world).state == VerdictState::ok);
    for (std::size_t rank = 0; rank < size; ++rank) {
        CHECK_FALSE(world.node(rank).taken.contains(world.node(rank).epoch.port));
        CHECK(world.node(rank).epoch.port == world.node(0).epoch.port);
    }
}

TEST_CASE("where no port is free on all nodes one that asked for it is named") {
    GroupWorld world{7, 2, 5};
    announce_all(world);
    world.take_ports(6, {1, 2, 3, 4, 5, 6});
    world.start(kGroupStart, 60s);
    world.run(kGroupEnd);
    CHECK(verdict_of_all(world).sentence == "node n6: no port is free");
}

TEST_CASE("a daemon that pauses for less than the silence that is allowed ends nothing") {
    const auto who = GENERATE(range(0U, 9U));
    const auto when = GENERATE(60, 150, 300, 1000);
    CAPTURE(who, when);
    GroupWorld world{9, 2, 11};
    announce_all(world);
    world.at(kGroupStart + 1ms * when, [&] { world.freeze(who, 29s); });
    world.start(kGroupStart, 200s);
    world.run(kGroupEnd);
    CHECK(verdict_of_all(world).state == VerdictState::ok);
}

TEST_CASE("a root that was away for too long blames itself, not those that waited for it") {
    const auto seed = GENERATE(range(1U, 20U));
    CAPTURE(seed);
    GroupWorld world{9, 2, seed};
    announce_all(world);
    world.at(kGroupStart + 300ms, [&] { world.freeze(0, 90s); });
    world.start(kGroupStart, 200s);
    world.run(kGroupEnd);
    REQUIRE(world.node(0).group->verdict());
    CHECK_THAT(world.node(0).group->verdict()->sentence,
               Catch::StartsWith("node n0: stagecastd did not run for ") &&
                   !Catch::Contains("node n1"));
}

TEST_CASE("a node that is not an ancestor is not accepted as parent") {
    GroupSeat seat{.key = {},
                   .tree = Tree{7, 2},
                   .self = Rank{5},
                   .names = {"a", "b", "c", "d", "e", "f", "g"},
                   .places = {},
                   .plan = {},
                   .context_base = 0};
    Group group{seat, {}, kGroupStart, kGroupStart + 10s};
    CHECK_FALSE(group.on_parent(kGroupStart, Rank{1}));
    CHECK_FALSE(group.on_parent(kGroupStart, Rank{5}));
    CHECK(group.on_parent(kGroupStart, Rank{2}));
    CHECK(group.on_parent(kGroupStart, Rank{0}));
    CHECK_FALSE(group.on_message(kGroupStart, Rank{2}, PulseMessage{}));
    CHECK(group.on_message(kGroupStart, Rank{0}, PulseMessage{}));
    CHECK_FALSE(group.on_message(kGroupStart, Rank{0}, SettledMessage{}));
}
