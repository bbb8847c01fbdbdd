// How shall a broadcast behave where the papers differ?
//
// Three choices that a site makes once for all its stages (docs/PROTOCOL.md, 5, 6.3 and 7.3),
// and over how many lanes the stream is spread (3.5). The root's go to all nodes in one byte.
#pragma once

#include <cstdint>
#include <optional>

namespace stage {

/// Whom a staging's rate follows: most receivers, or the slowest.
enum class RateControl : unsigned char { quantile = 0, acker = 1 };
/// Whom a receiver asks for what it missed: anybody, or its neighbour in the ring of ranks.
enum class RepairPeers : unsigned char { random = 0, ring = 1 };
/// Whether the source waits until all have said that they hear it.
enum class ReadyWait : unsigned char { fence = 0, none = 1 };

inline constexpr unsigned kPolicyLanesMax = 16;

struct Policies {
    RateControl rate_control = RateControl::quantile;
    RepairPeers repair_peers = RepairPeers::random;
    ReadyWait readiness = ReadyWait::fence;
    std::uint8_t lanes = 1;  ///< 1 to kPolicyLanesMax.

    bool operator==(const Policies&) const = default;
};

[[nodiscard]] constexpr std::uint8_t encode(const Policies& policies) {
    return static_cast<std::uint8_t>(static_cast<unsigned>(policies.rate_control) |
                                     static_cast<unsigned>(policies.repair_peers) << 1U |
                                     static_cast<unsigned>(policies.readiness) << 2U |
                                     (policies.lanes - 1U) % kPolicyLanesMax << 3U);
}

/// Nothing of a byte that says more than is known.
[[nodiscard]] constexpr std::optional<Policies> decode_policies(std::uint8_t byte) {
    if (byte > 127) {
        return std::nullopt;
    }
    return Policies{.rate_control = static_cast<RateControl>(byte & 1U),
                    .repair_peers = static_cast<RepairPeers>(byte >> 1U & 1U),
                    .readiness = static_cast<ReadyWait>(byte >> 2U & 1U),
                    .lanes = static_cast<std::uint8_t>((byte >> 3U) + 1U)};
}

}  // namespace stage
