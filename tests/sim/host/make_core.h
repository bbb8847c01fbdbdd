// Makes the core that a plan gives to a member.
#pragma once

#include "tests/sim/plan/plan.h"
#include "transport/core/base/core.h"

#include <memory>

namespace stage::sim {

/// `prng` must outlive it.
[[nodiscard]] std::unique_ptr<core::Core> make_core(const Plan& plan,
                                                    std::uint16_t rank,
                                                    Prng& prng);

}  // namespace stage::sim
