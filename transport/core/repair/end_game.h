// Decides when a receiver requests each missing chunk from several peers (the end-game).
//
// It begins when the source sends nothing more to the group and few chunks are missing. An
// answer may then be lost, and there is nothing else to wait for. Block 0 has the places of all
// other blocks, which cannot be stored before it is here, so it is requested in this way from
// the beginning.
#pragma once

#include "transport/core/base/chunk_map.h"
#include "transport/core/base/limits.h"
#include "transport/core/sending/rtt_estimator.h"

#include <cstdint>
#include <optional>

namespace stage::core {

class EndGame {
  public:
    static constexpr std::uint32_t kCopiesMax = 8;

    EndGame(const RepairLimits& limits, std::uint16_t members);

    struct Path {
        const RttEstimator& round_trip;
        Duration packet_time;  ///< The time that a full packet takes.
    };
    /// Looks what is missing after the first pass. True if it is to be requested anew: the
    /// end-game begins; or most of the requested chunks arrived, and requesting the rest again
    /// costs less than waiting for it, because an RTT is longer than the answers. `in_flight`:
    /// chunks that are requested.
    [[nodiscard]] bool look(const ChunkMap& map, std::uint32_t in_flight, const Path& path);

    [[nodiscard]] bool is_on() const { return is_on_; }
    /// The number of peers that get each request of the block, at least 1.
    [[nodiscard]] std::uint32_t copies(BlockIndex block) const {
        return is_on_ || block.value() == 0 ? copies_ : 1;
    }

  private:
    [[nodiscard]] std::optional<std::uint32_t> few_missing(const ChunkMap& map,
                                                           std::uint32_t in_flight) const;

    std::uint32_t chunks_max_;  ///< With no more chunks missing the end-game begins.
    std::uint32_t peers_;
    std::uint32_t part_;
    std::uint32_t copies_;
    bool is_on_ = false;
    std::uint32_t missing_ = 0;  ///< Chunks missing when they were last requested anew.
};

}  // namespace stage::core
