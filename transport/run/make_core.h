// Makes the core of a member: a source's or a receiver's, of multicast or of a relay.
#pragma once

#include "transport/base/prng.h"
#include "transport/core/base/core.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/object_shape.h"

#include <memory>

namespace stage {

/// `object`: of the source; a receiver learns it from the OFFER. `relay_degree`: 0 is multicast
/// (BroadcastConfig::relay_degree). `prng` must outlive the core.
[[nodiscard]] std::unique_ptr<core::Core> make_core(const core::CoreConfig& config,
                                                    const core::ObjectShape& object,
                                                    std::uint32_t relay_degree,
                                                    Prng& prng,
                                                    const core::Limits& limits = {});

}  // namespace stage
