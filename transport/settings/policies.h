// The policies of a broadcast that a site chooses once for all of them.
//
// The source's count: all members of a broadcast have the same. docs/protocol (5, 6.3, 7.3)
// describes the three choices, and 3.5 the number of flows.
#pragma once

#include "transport/settings/choices.h"

namespace stage {

inline constexpr unsigned kPolicyFlowsMax = 16;
/// Interfaces (rails) that a node uses together; each carries a flow.
inline constexpr unsigned kPolicyRailsMax = kPolicyFlowsMax;

struct Policies {
    RatePolicy rate = RatePolicy::quantile;
    PeerPolicy peers = PeerPolicy::random;
    ReadinessPolicy readiness = ReadinessPolicy::fence;
    /// Flows that the group's packets are spread over, 1 to kPolicyFlowsMax. The driver's: it
    /// makes no difference to the core.
    std::uint8_t flows = 1;

    bool operator==(const Policies&) const = default;
};

}  // namespace stage
