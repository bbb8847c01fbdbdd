#include "tests/sim/world/cross_traffic.h"

#include "tests/sim/world/environment.h"

#include <cstdio>

namespace stage::sim {

Plan cross_traffic_plan(std::uint16_t members, std::uint64_t mbits, double seconds_alone) {
    const std::uint64_t link = mbits * 125'000;
    Plan plan = calm_plan(
        members, static_cast<std::uint64_t>(static_cast<double>(link) * seconds_alone * 0.95));
    plan.configured_bytes_per_s = 0;
    plan.link_bytes_per_s = link;
    plan.propagation = microseconds{50};
    plan.heals_at = std::chrono::hours{1};
    plan.stall_timeout = seconds{30};
    plan.linger = seconds{30};
    plan.uplink_buffer_bytes = static_cast<std::uint32_t>(number_of("BUFFER_KIB", 256)) << 10U;
    plan.events_max = 400'000'000;
    return plan;
}

void add_flows(Plan& plan, int many, Duration begin, Duration end) {
    for (int i = 0; i < many; ++i) {
        plan.flows.push_back({.from = {},
                              .to = static_cast<std::uint16_t>(plan.members - 1 - i),
                              .begin = begin,
                              .end = end});
    }
}

void print_shares(const World& world, std::size_t flow) {
    for (int tenth = 0; Duration{milliseconds{100}} * tenth < world.ran(); tenth += 5) {
        const auto shares =
            world.flow(flow).shares(milliseconds{100} * tenth, milliseconds{100} * (tenth + 5));
        std::printf(
            "  %4.1f s: broadcast %.2f, flow %.2f\n", tenth / 10.0, shares.others, shares.own);
    }
}

}  // namespace stage::sim
