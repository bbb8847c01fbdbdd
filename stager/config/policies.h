// The policies of a broadcast that a site chooses once for all its stages.
//
// docs/protocol (5, 6.3, 7.3, 7.6) describes the four choices, and 3.5 the number of flows. The
// first node sends them to all nodes in one byte.
#pragma once

#include <cstdint>

namespace stage {

/// Which receivers determine a stage's rate: most of them, or the slowest.
enum class RateControl : unsigned char { quantile = 0, acker = 1 };
/// Which peer a receiver asks for missing chunks: any one, or its neighbour in the ring of
/// ranks.
enum class RepairPeers : unsigned char { random = 0, ring = 1 };
/// Whether the source waits until all receivers have confirmed that multicast reaches them.
enum class ReadyWait : unsigned char { fence = 0, none = 1 };
/// Whether a receiver whose own path is congested may leave the multicast group.
enum class GroupLeave : unsigned char { never = 0, congested = 1 };

inline constexpr unsigned kPolicyFlowsMax = 16;
/// Interfaces (rails) that a node uses together; each carries a flow.
inline constexpr unsigned kPolicyRailsMax = kPolicyFlowsMax;

struct Policies {
    RateControl rate_control = RateControl::quantile;
    RepairPeers repair_peers = RepairPeers::random;
    ReadyWait readiness = ReadyWait::fence;
    std::uint8_t flows = 1;  ///< 1 to kPolicyFlowsMax.
    GroupLeave group_leave = GroupLeave::never;

    bool operator==(const Policies&) const = default;
};

[[nodiscard]] constexpr std::uint8_t encode(const Policies& policies) {
    return static_cast<std::uint8_t>(static_cast<unsigned>(policies.rate_control) |
                                     static_cast<unsigned>(policies.repair_peers) << 1U |
                                     static_cast<unsigned>(policies.readiness) << 2U |
                                     (policies.flows - 1U) % kPolicyFlowsMax << 3U |
                                     static_cast<unsigned>(policies.group_leave) << 7U);
}

/// Decodes any byte: every value is valid.
[[nodiscard]] constexpr Policies decode_policies(std::uint8_t byte) {
    return Policies{.rate_control = static_cast<RateControl>(byte & 1U),
                    .repair_peers = static_cast<RepairPeers>(byte >> 1U & 1U),
                    .readiness = static_cast<ReadyWait>(byte >> 2U & 1U),
                    .flows = static_cast<std::uint8_t>((byte >> 3U & 15U) + 1U),
                    .group_leave = static_cast<GroupLeave>(byte >> 7U)};
}

}  // namespace stage
