// Makes a plan that fails smaller while it still fails.
//
// Faults, partitions, flows, settings, blocks and members are taken away one at
// a time, and what the failure does not need remains removed.
#pragma once

#include "tests/sim/plan/plan.h"

#include <functional>

namespace stage::sim {

/// `fails` runs a plan and says whether it fails in the same way; it is called
/// at most `tries_max` times.
[[nodiscard]] Plan minimise(Plan plan,
                            const std::function<bool(const Plan&)>& fails,
                            unsigned tries_max);

/// The plan as a test case in C++.
[[nodiscard]] std::string scenario_text(const Plan& plan);

}  // namespace stage::sim
