// Tests that members that hold the object get nothing and delay no other member.
#include "tests/sim/world/ran.h"

#include <catch2/catch.hpp>

namespace stage::sim {
namespace {

Plan plan_with_holders(std::uint16_t members, std::uint64_t bytes) {
    Plan plan = calm_plan(members, bytes);
    for (MemberPlan& member : plan.member) {
        member.holds_already = true;
    }
    return plan;
}

std::uint64_t data_sent_by_all(const World& world) {
    std::uint64_t sum = 0;
    for (std::uint16_t rank = 0; rank < world.plan().members; ++rank) {
        sum += world.host(rank).data_sent();
    }
    return sum;
}

}  // namespace

TEST_CASE("where all hold the object nothing is read or sent", "[holding]") {
    for (const auto members : std::initializer_list<std::uint16_t>{2, 9, 70}) {
        const Ran ran{plan_with_holders(members, 20 * kMiB)};
        ran.all_released();
        CHECK(data_sent_by_all(ran.world) == 0);
        CHECK(ran.world.host(0).content().loads() == 0);
        CHECK(ran.world.held_after() < milliseconds{20});
    }
}

TEST_CASE("a small object with parities is not sent either", "[holding]") {
    const Ran ran{plan_with_holders(5, 30'000)};
    ran.all_released();
    CHECK(data_sent_by_all(ran.world) == 0);
}

TEST_CASE("a source that wants its own copy reads it, and sends nothing", "[holding]") {
    Plan plan = plan_with_holders(6, 20 * kMiB + 5);
    plan.member[0].holds_already = false;
    const Ran ran{plan};
    ran.all_released();
    CHECK(data_sent_by_all(ran.world) == 0);
    CHECK(ran.world.host(0).content().loads() == plan.block_bytes.size());
}

TEST_CASE("a source that holds its copy reads for receivers that lack it", "[holding]") {
    Plan plan = plan_with_holders(6, 20 * kMiB);
    plan.member[4].holds_already = false;
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.world.host(0).data_sent() == plan.chunks());
    CHECK(ran.world.host(4).content().chunks_stored() == plan.chunks());
    CHECK(ran.world.host(3).content().chunks_stored() == 0);
}

TEST_CASE("a holder stores no hole again, though that needs no chunk", "[holding]") {
    Plan plan = plan_with_holders(4, 10 * kMiB);
    plan.hole_percent = 50;
    plan.member[2].holds_already = false;
    const Ran ran{plan};
    ran.all_released();
}

TEST_CASE("holders do not slow receivers that lack it, with loss", "[holding]") {
    Plan plan = calm_plan(24, 40 * kMiB);
    plan.loss.independent_ppm = 10'000;
    plan.heals_at = std::chrono::hours{1};
    const Ran without{plan};
    without.all_released();
    for (std::uint16_t rank = 0; rank < plan.members; rank += 2) {
        plan.member[rank].holds_already = true;
    }
    const Ran with{plan};
    with.all_released();
    CHECK(with.world.times_wire() < without.world.times_wire() * 1.05);
}

// Members that hold the object can give nothing of it: after four of these in a row the source
// was asked. (It repeated a fifth of the stream, which took as much longer.)
TEST_CASE("few that lack it among many that hold it find each other", "[holding]") {
    Plan plan = lossy_plan(256, 40 * kMiB, 10'000);
    for (std::uint16_t rank = 1; rank < plan.members; ++rank) {
        plan.member[rank].holds_already = rank % 6 != 0;
    }
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.world.host(0).data_sent() < plan.chunks() * 112 / 100);
    CHECK(ran.world.times_wire() < 1.13);
}

TEST_CASE("the rate is found where every representative holds it", "[holding]") {
    constexpr std::uint16_t kMembers = 80;
    Plan plan = plan_with_holders(kMembers, 60 * kMiB);
    plan.configured_bytes_per_s = 0;
    for (const Rank rank : drawn_representatives(plan)) {
        plan.member[rank.index()].holds_already = true;
    }
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.world.times_wire() < 1.6);
}

TEST_CASE("a holder takes over smaller packets, too, and finishes once", "[holding]") {
    Plan plan = plan_with_holders(4, 3 * kMiB);
    plan.chunk_bytes = 8928;
    plan.chunk_bytes_fallback = 1444;
    plan.member[2].path_body_max = 1444;
    plan.member[1].holds_already = false;
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.world.host(1).outcome().chunk_bytes == 1444);
}

TEST_CASE("a holder whose files get no name fails the group", "[holding]") {
    Plan plan = plan_with_holders(4, 3 * kMiB);
    plan.member[2].finish_fails = true;
    const Ran ran{plan};
    ran.all_name(2, "the final name is taken");
}

TEST_CASE("a member that unpacks what it holds is waited for as long as all know",
          "[holding]") {
    Plan plan = plan_with_holders(4, 3 * kMiB);
    plan.finish_extra = seconds{60};
    plan.ready_timeout = seconds{80};
    plan.member[0].finish_takes = seconds{70};
    plan.member[1].holds_already = GENERATE(true, false);
    plan.member[2].finish_takes = seconds{75};
    const Ran ran{plan};
    ran.all_released();
}

TEST_CASE("a member that takes longer than that with the final names is named", "[holding]") {
    Plan plan = plan_with_holders(4, 3 * kMiB);
    plan.finish_extra = seconds{60};
    plan.ready_timeout = seconds{90};
    plan.member[2].finish_takes = seconds{80};
    const Ran ran{plan};
    ran.all_name(2, "stuck");
}

}  // namespace stage::sim
