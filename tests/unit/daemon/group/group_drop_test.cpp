// Does a group that drops failed nodes succeed for the others, and does every node agree?
#include "stager/daemon/group/group.h"
#include "tests/unit/daemon/group_world.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace std::chrono_literals;

namespace {

constexpr Instant kStart{};
constexpr Instant kEnd = kStart + 300s;
/// All workers that do not hang are done by then.
constexpr Instant kLater = kStart + 5s;

/// The root's, which all nodes that it can reach have, too.
GroupVerdict common_verdict(const GroupWorld& world) {
    REQUIRE(world.node(0).group->verdict());
    const GroupVerdict root = *world.node(0).group->verdict();
    for (std::size_t rank = 1; rank < world.size(); ++rank) {
        if (!world.reachable(rank)) {
            continue;
        }
        CAPTURE(rank, root.sentence);
        REQUIRE(world.node(rank).group->verdict());
        CHECK(*world.node(rank).group->verdict() == root);
        CHECK(world.node(rank).group->is_finished());
    }
    return root;
}

Rank rank_of(std::size_t number) {
    return Rank{static_cast<Rank::rep>(number)};
}

void begin(GroupWorld& world) {
    world.drop_failed();
    for (std::size_t rank = 0; rank < world.size(); ++rank) {
        world.announce(rank);
    }
    world.start(kStart, 100s);
}

}  // namespace

TEST_CASE("a worker that fails in mid-transfer is dropped, and no other waits for it") {
    const auto victim = GENERATE(1U, 2U, 6U, 12U);  // Parents and leaves.
    const auto width = GENERATE(1U, 2U, 16U);
    CAPTURE(victim, width);
    GroupWorld world{13, width, victim};
    world.hang(victim);
    begin(world);
    world.at(kLater, [&] { world.leave(victim, "/x: No space left on device"); });
    world.run(kEnd);

    const GroupVerdict verdict = common_verdict(world);
    CHECK(verdict.state == VerdictState::partial);
    CHECK(verdict.dropped == std::vector{rank_of(victim)});
    CHECK(verdict.sentence == "node n" + std::to_string(victim) +
                                  ": /x: No space left on device; the other nodes have the "
                                  "files");
    CHECK(*world.node(0).settled_at < kLater + 2s);
    CHECK(world.links() == 0);
}

TEST_CASE("a node that fails in mid-transfer without an outcome is dropped, too") {
    const auto victim = GENERATE(1U, 2U, 6U, 12U);
    const auto width = GENERATE(1U, 2U, 16U);
    CAPTURE(victim, width);
    GroupWorld world{13, width, victim};
    world.hang(victim);
    begin(world);
    world.at(kLater, [&] { world.fail(victim, "the job has ended here"); });
    world.run(kEnd);

    const GroupVerdict verdict = common_verdict(world);
    CHECK(verdict.state == VerdictState::partial);
    CHECK(verdict.dropped == std::vector{rank_of(victim)});
    CHECK(*world.node(0).settled_at < kLater + 2s);
}

TEST_CASE("a parent that loses many nodes that had reported counts none of them as done") {
    GroupWorld world{40, 16, 1};
    world.hang(39);  // Until then no verdict.
    begin(world);
    std::vector<Rank> lost;
    for (std::size_t rank = 17; rank <= 24; ++rank) {  // Children of 1.
        lost.push_back(rank_of(rank));
    }
    world.at(kLater, [&] {
        for (const Rank rank : lost) {
            world.kill(rank.index());
        }
    });
    world.at(kLater + 4s, [&] { world.leave(39, "stopped"); });
    world.run(kEnd);
    lost.push_back(Rank{39});

    const GroupVerdict verdict = common_verdict(world);
    CHECK(verdict.dropped == lost);
}

TEST_CASE("a worker that fails when it has the cards, before all listen, is dropped") {
    const auto seed = GENERATE(range(1U, 30U));
    CAPTURE(seed);
    GroupWorld world{9, 2, seed};
    const std::size_t victim = 1 + world.prng().below(8);
    world.hang(victim);
    begin(world);
    const auto when = kStart + 1ms * world.prng().below(900);
    bool has_left = false;
    world.at(when, [&] {
        has_left = !world.node(victim).fence.empty();
        if (has_left) {
            world.leave(victim, "disk full");
        } else {
            world.fail(victim, "no card");
        }
    });
    world.run(kEnd);

    const GroupVerdict verdict = common_verdict(world);
    if (has_left) {
        CHECK(verdict.dropped == std::vector{rank_of(victim)});
    } else {
        CHECK(verdict.state == VerdictState::failed);
        CHECK(verdict.dropped.empty());
    }
}

TEST_CASE(
    "a daemon that dies in mid-transfer is dropped, and those below it report elsewhere") {
    const auto victim = GENERATE(1U, 2U, 4U, 14U);
    const bool is_done = GENERATE(false, true);  // Its own worker, and all below it.
    CAPTURE(victim, is_done);
    GroupWorld world{15, 2, victim};
    world.hang(13);  // Until then no verdict.
    if (!is_done) {
        world.hang(victim);
    }
    begin(world);
    world.at(kLater, [&] { world.kill(victim); });
    world.at(kLater + 2s, [&] { world.leave(13, "stopped"); });
    world.run(kEnd);

    const GroupVerdict verdict = common_verdict(world);
    CHECK(verdict.state == VerdictState::partial);
    CHECK(verdict.dropped ==
          std::vector{rank_of(std::min(victim, 13U)), rank_of(std::max(victim, 13U))});
    CHECK(*world.node(0).settled_at < kLater + 4s);
    CHECK(world.links() == 0);
}

TEST_CASE("a stopped worker, whose daemon does not know, is dropped at the source's word") {
    const auto victim = GENERATE(1U, 5U, 11U);
    const bool is_silent = GENERATE(false, true);  // The whole node.
    CAPTURE(victim, is_silent);
    GroupWorld world{12, 2, victim};
    world.hang(victim);
    begin(world);
    if (is_silent) {
        world.at(kLater, [&] { world.cut(victim); });
    }
    world.at(kLater + 20s, [&] { CHECK_FALSE(world.node(0).settled_at); });
    world.at(kLater + 21s, [&] { world.drop(victim, "nothing was heard of it"); });
    world.run(kEnd);

    const GroupVerdict verdict = common_verdict(world);
    CHECK(verdict.state == VerdictState::partial);
    CHECK(verdict.dropped == std::vector{rank_of(victim)});
    if (!is_silent) {
        CHECK_THAT(verdict.sentence, Catch::Contains("nothing was heard of it"));
    }
    // A silent daemon costs no second time-out of the stage, only one of a connection.
    CHECK(*world.node(0).settled_at < kLater + 30s);
}

TEST_CASE("a daemon that stands still is dropped alone, though it wakes with nodes below it") {
    const auto victim = GENERATE(1U, 2U, 4U);
    const auto seed = GENERATE(range(1U, 20U));
    const bool is_dropped = GENERATE(false, true);  // Its worker stands, too, and the source
    CAPTURE(victim, seed, is_dropped);              // has gone on without it.
    GroupWorld world{31, 2, seed};
    world.hang(30);  // Until then no verdict.
    begin(world);
    if (is_dropped) {
        world.hang(victim);
        world.at(kLater, [&] { world.freeze(victim, 16s + 1ms * world.prng().below(9000)); });
        world.at(kLater + 10s, [&] { world.drop(victim, "nothing was heard of it"); });
    } else {
        world.at(kLater, [&] {
            const Duration silence = GroupTimes{}.branch.silence_max;
            world.freeze(victim, silence + 1ms * world.prng().below(8000));
        });
    }
    world.at(kLater + 80s, [&] { world.leave(30, "stopped"); });
    world.run(kEnd);

    const GroupVerdict root = *world.node(0).group->verdict();
    CAPTURE(root.sentence);
    CHECK(root.dropped == std::vector{rank_of(victim), Rank{30}});
    for (std::size_t rank = 1; rank < world.size(); ++rank) {
        CAPTURE(rank);
        REQUIRE(world.node(rank).group->verdict());
        CHECK((rank == victim || *world.node(rank).group->verdict() == root));
        CHECK(world.node(rank).group->is_finished());
    }
    CHECK_THAT(world.node(victim).group->verdict()->sentence,
               Catch::Contains("stagecastd did not run for"));
    CHECK(world.links() == 0);
}

TEST_CASE("a daemon that stands still for less is not dropped, nor are those below it") {
    const auto victim = GENERATE(1U, 2U, 4U);
    const auto seconds = GENERATE(2U, 8U, 30U, 55U);
    CAPTURE(victim, seconds);
    GroupWorld world{31, 2, seconds};
    world.hang(30);
    begin(world);
    world.at(kLater, [&] { world.freeze(victim, 1s * seconds); });
    world.at(kLater + 1s, [&] { world.kill(2 * victim + 1); });  // A child of it.
    world.at(kLater + 80s, [&] { world.leave(30, "stopped"); });
    world.run(kEnd);
    CHECK(common_verdict(world).dropped == std::vector{rank_of(2 * victim + 1), Rank{30}});
}

TEST_CASE("a node that says that it has the files is not dropped by the source's word") {
    GroupWorld world{5, 2, 1};
    world.hang(3);
    begin(world);
    world.at(kLater, [&] { world.drop(4, "nothing was heard of it"); });
    world.at(kLater + 1s, [&] { world.leave(3, "disk full"); });
    world.run(kEnd);
    CHECK(common_verdict(world).dropped == std::vector{Rank{3}});
}

TEST_CASE("before all listen, and at the root, a failure ends the stage as ever") {
    GroupWorld world{9, 2, 1};
    begin(world);
    SECTION("a node's") {
        world.at(kStart + 5ms, [&] { world.fail(0, "no source"); });
    }
    SECTION("the source's worker, which blames another") {
        world.hang(0);
        world.at(kLater, [&] { world.fail(0, "all receivers failed"); });
    }
    SECTION("all receivers'") {
        for (std::size_t rank = 1; rank < 9; ++rank) {
            world.hang(rank);
            world.at(kLater, [&world, rank] { world.leave(rank, "disk full"); });
        }
    }
    world.run(kEnd);
    const GroupVerdict verdict = common_verdict(world);
    CHECK(verdict.state == VerdictState::failed);
    CHECK(verdict.dropped.empty());
    CHECK(*world.node(0).settled_at < kLater + 3s);
}

TEST_CASE("without the policy a node's failure in mid-transfer ends the stage") {
    GroupWorld world{5, 2, 1};
    for (std::size_t rank = 0; rank < world.size(); ++rank) {
        world.announce(rank);
    }
    world.hang(3);
    world.start(kStart, 100s);
    world.at(kLater, [&] { world.kill(3); });
    world.run(kEnd);
    const GroupVerdict verdict = common_verdict(world);
    CHECK(verdict.state == VerdictState::failed);
    CHECK(verdict.dropped.empty());
}

TEST_CASE("nodes fail, die and vanish at any moment: the others agree on who was dropped") {
    const auto seed = GENERATE(range(1U, 400U));
    CAPTURE(seed);
    Prng draw{seed};
    const std::size_t size = 3 + draw.below(30);
    GroupWorld world{size, 1 + draw.below(4), seed};
    begin(world);
    std::set<Rank> victims;
    for (std::size_t i = draw.below(5); i > 0; --i) {
        const std::size_t victim = 1 + draw.below(size - 1);
        const Instant when = kStart + 1ms * draw.below(1500);
        const std::uint64_t kind = draw.below(4);
        victims.insert(rank_of(victim));
        if (draw.below(2) == 0) {
            world.hang(victim);
        }
        world.at(when, [&world, victim, kind] {
            if (kind == 0) {
                world.kill(victim);
            } else if (kind == 1) {
                world.cut(victim);
            } else if (kind == 2 && !world.node(victim).fence.empty()) {
                world.leave(victim, "disk full");
            } else {
                world.fail(victim, "stopped");
            }
        });
        // What the source does about one that is silent.
        world.at(kStart + 30s, [&world, victim] { world.drop(victim, "nothing was heard"); });
    }
    world.run(kEnd);

    const GroupVerdict verdict = common_verdict(world);
    for (const Rank rank : verdict.dropped) {
        CAPTURE(rank.value());
        CHECK(victims.contains(rank));
    }
    if (victims.empty()) {
        CHECK(verdict.state == VerdictState::ok);
    }
    CAPTURE(verdict.sentence, (*world.node(0).settled_at - kStart) / 1s);
    CHECK(*world.node(0).settled_at < kStart + 65s);
}
