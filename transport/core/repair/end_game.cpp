#include "transport/core/repair/end_game.h"

#include "transport/base/invariant.h"

#include <algorithm>
#include <utility>

namespace stage::core {
namespace {

/// Chunks that the link carries in an RTT.
std::uint64_t chunks_in_trip(const EndGame::Path& path) {
    return path.round_trip.is_known() && path.packet_time > Duration::zero()
               ? static_cast<std::uint64_t>(path.round_trip.mean() / path.packet_time)
               : 0;
}

}  // namespace

EndGame::EndGame(const RepairLimits& limits, std::uint16_t members)
    : chunks_max_{limits.endgame_chunks},
      peers_{limits.endgame_peers},
      part_{limits.endgame_part},
      copies_{std::clamp(limits.endgame_peers, 1U, std::max(members - 1U, 1U))} {
    invariant(limits.endgame_peers <= kCopiesMax, "a request's copies fit their record");
}

bool EndGame::look(const ChunkMap& map, std::uint32_t in_flight, const Path& path) {
    const auto missing = few_missing(map, in_flight);
    const bool was_on = std::exchange(is_on_, missing.has_value());
    if (!missing || *missing == 0) {
        return false;
    }
    const bool is_part = *missing * part_ <= missing_;
    const bool is_cheap = std::uint64_t{*missing} * peers_ <= chunks_in_trip(path);
    if (was_on && !(is_part && is_cheap)) {
        return false;
    }
    missing_ = *missing;
    return true;
}

/// The number of missing chunks, if that is few and every block is held or open.
std::optional<std::uint32_t> EndGame::few_missing(const ChunkMap& map,
                                                  std::uint32_t in_flight) const {
    // Requested chunks are missing: most of the time that is enough to know.
    if ((!is_on_ && in_flight > chunks_max_) || map.held() + map.open_count() != map.blocks()) {
        return std::nullopt;
    }
    std::uint32_t missing = 0;
    for (std::size_t i = 0; i < map.open_count() && missing <= chunks_max_; ++i) {
        const OpenBlock& open = map.at(i);
        missing += open.chunks == 0 ? map.blocks() : open.chunks - open.have.count();
    }
    return missing <= chunks_max_ ? std::optional{missing} : std::nullopt;
}

}  // namespace stage::core
