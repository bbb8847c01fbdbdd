// Chooses the peer of a request, and the chunks in flight, for a member of the group.
//
// That is the normal case: most peers have what this member misses. After several failures the
// source is asked, by so few members of a group that it can answer.
#pragma once

#include "transport/core/base/chunk_map.h"
#include "transport/core/base/limits.h"
#include "transport/core/repair/peer_choice.h"
#include "transport/core/sending/rtt_estimator.h"

#include <cstdint>
#include <span>

namespace stage::core {

class GroupRepair {
  public:
    GroupRepair(const RepairLimits& limits, std::uint32_t packet_bytes)
        : limits_{limits}, packet_bytes_{packet_bytes} {}

    /// A choice of one more peer for a request.
    struct Query {
        Instant now;
        std::span<const Rank> chosen{};  ///< Peers that get a copy of the request.
        unsigned copies = 1;             ///< Failures that count as one.
        bool is_ended = false;           ///< The first pass is over.
        bool is_outside = false;         ///< This member is outside the group.
    };
    [[nodiscard]] Rank choose(const Query& query,
                              const OpenBlock& open,
                              PeerChoice& peers) const;

    /// The most chunks in flight at this rate.
    [[nodiscard]] std::uint32_t window(const RttEstimator& round_trip,
                                       std::uint64_t rate_bytes_per_s) const;

  private:
    [[nodiscard]] bool should_ask_source(const Query& query,
                                         const OpenBlock& open,
                                         PeerChoice& peers) const;

    RepairLimits limits_;
    std::uint32_t packet_bytes_;
};

}  // namespace stage::core
