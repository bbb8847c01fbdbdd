// Checks streams of several flows, on one interface and on rails that fail.
#include "tests/sim/world/ran.h"

#include <algorithm>

namespace stage::sim {
namespace {

constexpr std::uint64_t kBytes = 16U << 20U;

/// Two rails, the rate of both configured.
Plan railed_plan(std::uint16_t members) {
    Plan plan = calm_plan(members, kBytes);
    plan.stream_flows = 2;
    plan.rails = 2;
    plan.configured_bytes_per_s = 2 * plan.link_bytes_per_s;
    return plan;
}

std::uint64_t lost(const Ran& ran, std::uint16_t rank) {
    return ran.world.host(rank).outcome().packets_lost;
}

std::uint64_t requests(const Ran& ran) {
    std::uint64_t all = 0;
    for (std::uint16_t rank = 0; rank < ran.world.plan().members; ++rank) {
        all += ran.world.host(rank).core().did().sent[static_cast<std::size_t>(
            wire::PacketType::request)];
    }
    return all;
}

}  // namespace

TEST_CASE("late threads of flows are waited for, and nothing is requested",
          "[scenario][rails]") {
    Plan plan = calm_plan(5, kBytes);
    plan.stream_flows = 4;
    plan.flow_late_max = milliseconds{3};
    const Ran ran{plan};
    ran.all_released();
    CHECK(requests(ran) == 0);
    for (const std::uint64_t packets : ran.world.host(1).received_by_flow()) {
        CHECK(packets > plan.chunks() / 5);
    }
}

TEST_CASE("two rails bring twice as much", "[scenario][rails]") {
    const Ran ran{railed_plan(5)};
    ran.all_released();
    CHECK(requests(ran) == 0);
    CHECK(ran.world.times_wire() < 0.53);
}

TEST_CASE("a rail that is dead between the switches costs repairs, and no member",
          "[scenario][rails]") {
    const bool is_configured = GENERATE(true, false);
    CAPTURE(is_configured);
    Plan plan = railed_plan(5);
    plan.configured_bytes_per_s = is_configured ? plan.configured_bytes_per_s : 0;
    plan.rail_faults = {{.harm = RailHarm::lost, .begin = milliseconds{20}}};
    const Ran ran{plan};
    ran.all_released();
    CHECK(lost(ran, 1) > plan.chunks() / 4);
}

TEST_CASE("a rail that is dead at one member delays no other", "[scenario][rails]") {
    Plan plan = railed_plan(9);
    const Ran whole{plan};
    plan.rail_faults = {{.harm = RailHarm::lost, .of = 3}};
    const Ran ran{plan};
    ran.all_released();
    for (std::uint16_t rank = 1; rank < plan.members; ++rank) {
        if (rank != 3) {
            CHECK(ran.times_wire(rank) < 1.03 * whole.times_wire(rank));
        }
    }
}

TEST_CASE("a rail whose link is down at the source is passed over", "[scenario][rails]") {
    Plan plan = railed_plan(5);
    plan.rail_faults = {{.harm = RailHarm::down, .of = 0, .begin = milliseconds{30}}};
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.world.host(0).driver().passed_over() > 0);
    // (At most what was on the way.)
    CHECK(lost(ran, 1) < 300);
    CHECK(ran.world.times_wire() < 1.1);
}

TEST_CASE("a rail that takes nothing any more is given up", "[scenario][rails]") {
    Plan plan = railed_plan(5);
    plan.rail_faults = {{.harm = RailHarm::blocked, .of = 0, .begin = milliseconds{30}}};
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.world.host(0).driver().found_blocked() > 0);
    CHECK(ran.world.times_wire() < 1.6);
}

// One member never answers, so the source repeats OFFERs beside ENDs for a long time.
TEST_CASE("seed 7702288: a dead rail keeps neither all OFFERs nor all ENDs from a late member",
          "[scenario][rails]") {
    Plan plan = calm_plan(34, 202'849);
    plan.seed = 7702288;
    plan.rails = GENERATE(std::uint8_t{2}, std::uint8_t{3});
    plan.stream_flows = static_cast<std::uint8_t>(plan.rails * GENERATE(1, 2));
    CAPTURE(plan.rails, plan.stream_flows);
    plan.is_unfenced = true;
    plan.drops_failed = true;
    plan.member[14].start_at = milliseconds{945};
    plan.member[33].crash_at = milliseconds{62};
    plan.member[33].start_at = milliseconds{1409};
    plan.rail_faults = {{.harm = RailHarm::lost, .begin = milliseconds{300}}};
    const Ran ran{plan};
    CHECK(ran.phase(14) == core::Phase::released);
    CHECK(ran.world.host(0).outcome().dropped.size() == 1);
}

TEST_CASE("of a slow rail and a fast one both are used", "[scenario][rails]") {
    const bool is_configured = GENERATE(true, false);
    CAPTURE(is_configured);
    Plan plan = railed_plan(5);
    plan.configured_bytes_per_s = is_configured ? plan.link_bytes_per_s : 0;
    plan.rail_faults = {{.harm = RailHarm::slow, .bytes_per_s = plan.link_bytes_per_s / 4}};
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.world.times_wire() < 4);
}

}  // namespace stage::sim
