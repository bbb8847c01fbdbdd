// The simulated network of a broadcast beside TCP flows.
//
// Links of one rate, no configured rate, and no faults except what a flow (cubic_flow.h) takes.
// fair_test.cpp and leave_test.cpp measure the shares.
#pragma once

#include "tests/sim/world/world.h"

namespace stage::sim {

/// Links of `mbits` Mbit/s, and an object that takes about `seconds_alone` with no flow beside
/// it. BUFFER_KIB= changes the uplinks' buffers.
Plan cross_traffic_plan(std::uint16_t members, std::uint64_t mbits, double seconds_alone);

/// A flow into each of the last `many` members.
void add_flows(Plan& plan, int many, Duration begin, Duration end = std::chrono::hours{1});

/// Shares of the flow's narrowest link, half a second a line.
void print_shares(const World& world, std::size_t flow);

}  // namespace stage::sim
