// Tests a source whose blocks come from another session, and a member that passes them on.
#include "tests/sim/relay/relay_world.h"
#include "tests/sim/world/ran.h"

#include <catch2/catch.hpp>

namespace stage::sim {
namespace {

using namespace std::chrono_literals;

Plan plan_with_leg(std::uint16_t members, std::uint32_t blocks) {
    Plan plan = lossy_plan(members, 0, 0);
    plan.block_bytes.assign(blocks, kBlockBytes);
    plan.leg.block_every = 40ms;  // A link of 210 Mbit/s; the others have 1 Gbit/s.
    return plan;
}

std::uint64_t waited(const World& world) {
    return world.host(world.plan().source).disk().did().waited;
}

TEST_CASE("multicast goes on with a block as soon as the leg has brought it", "[leg]") {
    const Ran ran{plan_with_leg(8, 24)};
    ran.all_released();
    CHECK(waited(ran.world) > 0);
    CHECK(ran.world.ran() < ran.world.plan().leg.arrival(23) + 1s);
}

TEST_CASE("a leg that stops for longer than the stall time-out is no fault of a member",
          "[leg]") {
    Plan plan = plan_with_leg(8, 24);
    plan.leg.stops_at = 200ms;
    plan.leg.stops_for = plan.stall_timeout * 6;
    const Ran ran{plan};
    ran.all_released();
}

TEST_CASE("losses are repaired while the leg stands still", "[leg]") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        Plan plan = plan_with_leg(6, 24);
        plan.seed = seed;
        plan.loss.independent_ppm = 30'000;
        plan.leg.stops_at = 300ms;
        plan.leg.stops_for = 5s;
        const Ran ran{plan};
        ran.all_released();
    }
}

RelayPlan relay_with_leg(std::uint32_t members) {
    RelayPlan plan{.members = members, .object_bytes = 24U << 20U};
    plan.leg.block_every = 160ms;  // The links take 84 ms for a block.
    return plan;
}

void expect_released(const RelayWorld& world, std::uint32_t members) {
    CHECK(world.faults().empty());
    for (std::uint32_t rank = 0; rank < members; ++rank) {
        CAPTURE(rank);
        CHECK(world.outcome(rank).phase == core::Phase::released);
    }
}

TEST_CASE("a relay goes on with a block as soon as the leg has brought it", "[leg]") {
    const RelayPlan plan = relay_with_leg(16);
    RelayWorld world{plan};
    world.run(60s);
    expect_released(world, 16);
    REQUIRE(world.last_held());
    CHECK(*world.last_held() < plan.leg.arrival(23) + 500ms);
}

TEST_CASE("a leg that stops for longer than the stall time-out is no fault of a relay's member",
          "[leg]") {
    RelayPlan plan = relay_with_leg(8);
    plan.stall_timeout = 4s;
    plan.leg.stops_at = 500ms;
    plan.leg.stops_for = 100s;
    RelayWorld world{plan};
    world.run(200s);
    expect_released(world, 8);
}

TEST_CASE("a member that crashes while the leg stands still is found", "[leg]") {
    RelayPlan plan = relay_with_leg(4);
    plan.stall_timeout = 4s;
    plan.leg.stops_at = 500ms;
    plan.leg.stops_for = 60s;
    plan.crashes[3] = 1s;
    RelayWorld world{plan};
    world.run(200s);
    CHECK(world.faults().empty());
    CHECK(world.outcome(0).phase == core::Phase::failed);
    CHECK(world.outcome(0).culprit == Rank{3});
}

TEST_CASE("a source waits for a gateway as long as the sessions behind it take", "[leg]") {
    RelayPlan plan{.members = 2, .object_bytes = 4U << 20U};
    plan.stall_timeout = 4s;
    plan.chained[1] = 300s;
    RelayWorld world{plan};
    world.run(400s);
    expect_released(world, 2);
    REQUIRE(world.last_held());
    CHECK(*world.last_held() >= 299s);  // The world begins at 1 s.
}

TEST_CASE("a gateway that crashes while others finish behind it is named", "[leg]") {
    RelayPlan plan{.members = 2, .object_bytes = 4U << 20U};
    plan.stall_timeout = 4s;
    plan.chained[1] = 300s;
    plan.crashes[1] = 20s;
    RelayWorld world{plan};
    world.run(400s);
    CHECK(world.outcome(0).phase == core::Phase::failed);
    CHECK(world.outcome(0).culprit == Rank{1});
    CHECK(world.now() < 120s);
}

}  // namespace
}  // namespace stage::sim
