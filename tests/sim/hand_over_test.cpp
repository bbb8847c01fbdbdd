// Tests that a group whose multicast does not reach all members goes on by a relay, or fails,
// before any data is sent. (What follows is the relay's: tests/sim/relay.)
#include "tests/sim/world/ran.h"

#include <catch2/catch.hpp>

#include <algorithm>

namespace stage::sim {
namespace {

Plan plan_of(std::uint16_t members, std::uint64_t bytes, UnreachedPolicy policy) {
    Plan plan = calm_plan(members, bytes);
    plan.unreached_policy = policy;
    return plan;
}

void deafen(Plan& plan, std::initializer_list<std::uint16_t> ranks) {
    for (const std::uint16_t rank : ranks) {
        plan.member[rank].hears_group_until = Duration{};
    }
}

/// All members agree, and the source has sent no chunk of a large object.
void all_handed_over(const Ran& ran, const std::vector<Rank>& unreached) {
    INFO(ran.world.report());
    for (std::uint16_t rank = 0; rank < ran.world.plan().members; ++rank) {
        CAPTURE(rank);
        const core::Outcome& outcome = ran.world.host(rank).outcome();
        CHECK(outcome.phase == core::Phase::handed_over);
        CHECK(outcome.relay == Relay{});
        CHECK(outcome.unreached == unreached);
        CHECK(outcome.was_unreachable ==
              (std::ranges::find(unreached, Rank{rank}) != unreached.end()));
        CHECK_FALSE(outcome.why);
    }
}

}  // namespace

TEST_CASE("a member that the group does not reach makes all go on by a relay",
          "[scenario][handover]") {
    for (const std::uint64_t bytes : {std::uint64_t{40'000}, 8 * kMiB}) {
        Plan plan = plan_of(8, bytes, UnreachedPolicy::relay);
        deafen(plan, {5});
        const Ran ran{plan};
        CAPTURE(bytes);
        all_handed_over(ran, {Rank{5}});
        CHECK(ran.world.host(0).data_sent() == 0);
    }
}

TEST_CASE("so do all members that the group does not reach, also in a large group",
          "[scenario][handover]") {
    for (const std::uint16_t members :
         {std::uint16_t{2}, std::uint16_t{8}, std::uint16_t{80}, std::uint16_t{300}}) {
        Plan plan = plan_of(members, 8 * kMiB, UnreachedPolicy::relay);
        std::vector<Rank> unreached;
        for (std::uint16_t rank = 1; rank < members; ++rank) {
            plan.member[rank].hears_group_until = Duration{};
            unreached.push_back(Rank{rank});
        }
        const Ran ran{plan};
        CAPTURE(members);
        all_handed_over(ran, unreached);
    }
}

TEST_CASE("a small object may have arrived where the group is heard", "[scenario][handover]") {
    Plan plan = plan_of(8, 3, UnreachedPolicy::relay);
    deafen(plan, {2, 7});
    const Ran ran{plan};
    all_handed_over(ran, {Rank{2}, Rank{7}});
    CHECK(ran.world.host(4).content().is_whole());
    CHECK_FALSE(ran.world.host(7).content().is_whole());
}

// Its LEAVE is lost, and after RELEASE it says no more in this session. It did not know that
// the others go on.
TEST_CASE("a member that fails while the group is handed over knows of the relay",
          "[scenario][handover]") {
    Plan plan = plan_of(8, 8 * kMiB, UnreachedPolicy::relay);
    deafen(plan, {5});
    plan.member[3].abort_at = milliseconds{32};
    plan.partitions.push_back({.members = {3},
                               .begin = milliseconds{31},
                               .end = milliseconds{45},
                               .hears_nothing = false});
    const Ran ran{plan};
    INFO(ran.world.report());
    for (std::uint16_t rank = 0; rank < plan.members; ++rank) {
        CAPTURE(rank);
        const core::Outcome& outcome = ran.world.host(rank).outcome();
        CHECK(outcome.phase == (rank == 3 ? core::Phase::failed : core::Phase::handed_over));
        CHECK(outcome.relay == Relay{});
    }
    CHECK(ran.world.host(3).outcome().why);
}

TEST_CASE("a member that is late is waited for", "[scenario][handover]") {
    Plan plan = plan_of(8, 8 * kMiB, UnreachedPolicy::relay);
    deafen(plan, {5});
    plan.member[3].start_at = seconds{2};
    const Ran ran{plan};
    all_handed_over(ran, {Rank{5}});
}

TEST_CASE("with loss all go on by a relay, too", "[scenario][handover]") {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        Plan plan = lossy_plan(8, 8 * kMiB, 50'000);
        plan.seed = seed;
        plan.unreached_policy = UnreachedPolicy::relay;
        deafen(plan, {1, 6});
        const Ran ran{plan};
        CAPTURE(seed);
        for (std::uint16_t rank = 0; rank < plan.members; ++rank) {
            CHECK(ran.phase(rank) == core::Phase::handed_over);
        }
    }
}

// A process that is late reads many packets at once, and sends OFFERs between them: members
// that had lost one OFFER were taken for unreached.
TEST_CASE("what a late source reads together shows nothing", "[scenario][handover]") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Plan plan = lossy_plan(200, kMiB, 50'000);
        plan.seed = seed;
        plan.unreached_policy = UnreachedPolicy::relay;
        plan.packets_per_turn = 16;
        plan.member[0].wake_latency = milliseconds{60};
        plan.heals_at = milliseconds{500};
        const Ran ran{plan};
        CAPTURE(seed);
        ran.all_released();
    }
}

TEST_CASE("where the group reaches all members nothing changes", "[scenario][handover]") {
    for (const auto policy : {UnreachedPolicy::relay, UnreachedPolicy::fail}) {
        for (const std::uint64_t bytes : {std::uint64_t{3}, 8 * kMiB}) {
            Plan plan = plan_of(8, bytes, policy);
            plan.member[3].start_at = seconds{1};
            const Ran ran{plan};
            ran.all_released();
        }
    }
}

TEST_CASE("forced multicast fails, and names a member that the group does not reach",
          "[scenario][handover]") {
    for (const std::uint64_t bytes : {std::uint64_t{3}, 8 * kMiB}) {
        Plan plan = plan_of(8, bytes, UnreachedPolicy::fail);
        deafen(plan, {5, 6});
        const Ran ran{plan};
        CAPTURE(bytes);
        ran.all_name(5, "multicast does not reach this node");
        for (std::uint16_t rank = 0; rank < plan.members; ++rank) {
            CHECK(ran.world.host(rank).outcome().unreached == std::vector{Rank{5}, Rank{6}});
        }
        for (const std::uint16_t rank : std::initializer_list<std::uint16_t>{5, 6}) {
            CHECK(ran.world.host(rank).outcome().bytes_held == 0);
        }
    }
}

TEST_CASE("forced multicast waits for a network that forwards the group late",
          "[scenario][handover]") {
    Plan plan = plan_of(8, 8 * kMiB, UnreachedPolicy::fail);
    for (auto& each : plan.member) {
        each.hears_group_until = Duration{};
        each.hears_group_from = milliseconds{400};
    }
    const Ran ran{plan};
    ran.all_released();
}

TEST_CASE("packets that the path drops for their size are found first",
          "[scenario][handover]") {
    Plan plan = plan_of(8, 8 * kMiB, UnreachedPolicy::relay);
    plan.chunk_bytes = 8'900;
    plan.chunk_bytes_fallback = 1'444;
    plan.member[4].path_body_max = 2'000;
    SECTION("all hear smaller ones") {
        const Ran ran{plan};
        ran.all_released();
    }
    SECTION("one hears none") {
        deafen(plan, {5});
        const Ran ran{plan};
        all_handed_over(ran, {Rank{5}});
    }
}

}  // namespace stage::sim
