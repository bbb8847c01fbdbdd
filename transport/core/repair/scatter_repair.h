// Chooses chunks and peers where all members fetch the object (scatter/allgather repair).
//
// A block is cut into shares as long as a request, and each share has an owner. A receiver
// fetches its own shares from the source, and those of others from their owners, so that the
// source sends each chunk about once (docs/protocol, 7.7).
#pragma once

#include "transport/core/base/chunk_map.h"
#include "transport/core/base/limits.h"
#include "transport/core/repair/peer_choice.h"
#include "transport/core/repair/repair_requests.h"

#include <cstdint>
#include <optional>

namespace stage::core {

class ScatterRepair {
  public:
    ScatterRepair(const RepairLimits& limits, std::uint32_t chunk_bytes);

    /// Called before the others. `round`: the time in which each member receives a share.
    void begin(Instant now, Duration round);

    /// What this member may request now.
    struct Room {
        std::uint32_t chunks_max = 0;  ///< Chunks of one request.
        std::uint32_t window = 0;      ///< Chunks in flight.
        std::size_t requests_at_source = 0;
    };
    /// Adds missing chunks of one share: an own one, if any is missing and the source is not
    /// busy, or one that follows.
    void gather(const OpenBlock& open,
                const Room& room,
                const PeerChoice& peers,
                RepairRequest& request) const;
    /// The request is for a share that this member owns.
    [[nodiscard]] bool is_own(const RepairRequest& request, const PeerChoice& peers) const {
        return owner(request.block, request.chunks[0], peers) == peers.own();
    }
    [[nodiscard]] Rank choose(const OpenBlock& open,
                              const RepairRequest& request,
                              PeerChoice& peers) const;

  private:
    [[nodiscard]] bool is_source_busy(const Room& room, std::uint16_t members) const;
    [[nodiscard]] bool can_own(Rank peer, const PeerChoice& peers) const;
    [[nodiscard]] Rank owner(BlockIndex block,
                             std::uint32_t chunk,
                             const PeerChoice& peers) const;
    [[nodiscard]] std::uint32_t first_own(const OpenBlock& open,
                                          std::uint32_t shares,
                                          const PeerChoice& peers) const;

    std::uint32_t share_chunks_;
    std::uint32_t shares_max_;  ///< Shares of a full block.
    std::uint32_t requests_at_source_;
    unsigned failures_before_source_;
    Duration start_min_;
    std::optional<Instant> since_;
    Instant now_{};
    bool is_starting_ = true;  ///< Other members may not have received their shares yet.
};

}  // namespace stage::core
