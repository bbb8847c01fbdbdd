// Makes the core of a member: a source's or a receiver's, of multicast or of a relay.
#pragma once

#include "transport/base/prng.h"
#include "transport/core/base/core.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/object_shape.h"
#include "transport/settings/scheme.h"

#include <memory>

namespace stage {

/// `object`: of the source; a receiver learns it from the OFFER. `prng` must outlive the core.
[[nodiscard]] std::unique_ptr<core::Core> make_core(const core::CoreConfig& config,
                                                    const core::ObjectShape& object,
                                                    const Scheme& scheme,
                                                    Prng& prng,
                                                    const core::Limits& limits = {});

}  // namespace stage
