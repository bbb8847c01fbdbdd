// Tests of late members and of the member that is named.
//
// A member that starts late, or answers late, has time until ready_timeout. No member is named
// for a silence that another one was asked to keep.
#include "tests/sim/world/ran.h"

#include <catch2/catch.hpp>

namespace stage::sim {

TEST_CASE(
    "a member that starts later than others may be silent has time until it must be ready",
    "[scenario]") {
    Plan plan = calm_plan(6, 10'000);  // goes with its offers
    plan.member[3].start_at = milliseconds{4500};
    const Ran small{plan};
    small.all_released();
    plan = calm_plan(6, 3 * kMiB);
    plan.is_unfenced = true;
    plan.member[3].start_at = milliseconds{4500};
    const Ran unfenced{plan};
    unfenced.all_released();
    CHECK(unfenced.world.held_after(2) < milliseconds{200});
}

TEST_CASE("without a fence a member that unpacks what it holds is waited for, too",
          "[scenario]") {
    Plan plan = calm_plan(4, 3 * kMiB);
    plan.is_unfenced = true;
    plan.finish_extra = seconds{60};
    plan.ready_timeout = seconds{80};
    plan.member[2].holds_already = true;
    plan.member[2].finish_takes = seconds{20};
    const Ran ran{plan};
    ran.all_released();
}

TEST_CASE("a member that answered and is then silent is named though others are still awaited",
          "[scenario]") {
    Plan plan = calm_plan(6, 8 * kMiB);
    plan.is_unfenced = true;
    plan.ready_timeout = seconds{60};
    plan.member[2].crash_at = milliseconds{20};
    plan.member[4].start_at = seconds{5};
    const Ran ran{plan};
    CHECK(ran.world.host(0).outcome().culprit == Rank{2});
    CHECK(ran.world.ran() < seconds{10});
}

TEST_CASE("a source that reads a very small object for long is not silent meanwhile",
          "[scenario]") {
    Plan plan = calm_plan(4, 10'000);
    plan.member[0].disk_bytes_per_s = 1'600;  // longer than a stall_timeout
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.world.held_after() > seconds{6});
    CHECK(ran.world.held_after() < seconds{8});
    // Three solicitations before the OFFER, and an answer; a member that answered is not asked
    // again.
    const auto& heard = ran.world.host(0).heard();
    CHECK(heard[static_cast<std::size_t>(wire::PacketType::ready)] <= 4U * (plan.members - 1U));
}

// Once all are known to listen no member is busy any more, and ready_timeout may be long.

/// No packet reaches `members`, and none leaves them; they know that all listen.
static Plan closed_plan(std::vector<std::uint16_t> members) {
    Plan plan = calm_plan(6, 8 * kMiB);
    plan.ready_timeout = seconds{600};
    plan.all_listen_at = seconds{1};
    for (const std::uint16_t rank : members) {
        plan.member[rank].abort_at = std::chrono::hours{2};  // marks it as one at fault
    }
    plan.partitions.push_back(
        {.members = std::move(members), .begin = Duration{0}, .end = std::chrono::hours{1}});
    return plan;
}

TEST_CASE("once all listen, a member that hears nothing fails after stall_timeout",
          "[scenario]") {
    const Ran ran{closed_plan({2, 4})};
    INFO(ran.world.report());
    for (const std::uint16_t rank : {std::uint16_t{2}, std::uint16_t{4}}) {
        const core::Outcome& outcome = ran.world.host(rank).outcome();
        CHECK(outcome.culprit.value() == rank);
        REQUIRE(outcome.why);
        CHECK(outcome.why->sentence().find("no datagram of the source arrives here") == 0);
        CHECK(*ran.world.host(rank).over_at() < Instant{seconds{8}});  // With its LEAVEs.
    }
    // Here no daemon tells the source.
    CHECK(ran.world.host(0).outcome().culprit == Rank{2});
    CHECK(ran.world.ran() < seconds{30});
    CHECK(ran.world.host(0).data_sent() == 0);
}

TEST_CASE("a source that no member's packets reach names itself", "[scenario]") {
    Plan plan = closed_plan({0});
    plan.partitions[0].says_nothing = false;
    const Ran ran{plan};
    ran.all_name(0, "no datagram of the 5 other nodes arrives here");
    CHECK(ran.world.ran() < seconds{30});
}

TEST_CASE("once all listen, a member that unpacks what it holds is still waited for",
          "[scenario]") {
    Plan plan = calm_plan(4, 3 * kMiB);
    plan.finish_extra = seconds{60};
    plan.ready_timeout = seconds{80};
    plan.all_listen_at = milliseconds{100};
    plan.member[2].holds_already = true;
    plan.member[2].finish_takes = seconds{40};
    const Ran ran{plan};
    ran.all_released();
}

}  // namespace stage::sim
