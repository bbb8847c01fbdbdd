// How does a member ask for what it can't wait for: the last chunks, and the first block?
//
// Of several peers at once, with short time-outs: what comes twice costs little there.
#include "transport/core/puller.h"

#include <algorithm>

namespace stage::core {

/// Little is missing, and nothing else will come.
bool Puller::is_near_end(const ChunkMap& map) const {
    // Whatever is asked for is missing: most of the time that says enough.
    if (!is_ended_ || (!is_endgame_ && in_flight_ > limits_.endgame_chunks) ||
        map.held() + map.open_count() != map.blocks()) {
        return false;
    }
    std::uint32_t missing = 0;
    for (std::size_t i = 0; i < map.open_count() && missing <= limits_.endgame_chunks; ++i) {
        const OpenBlock& open = map.at(i);
        missing += open.chunks == 0 ? map.blocks() : open.chunks - open.have.count();
    }
    return missing <= limits_.endgame_chunks;
}

/// What one peer was asked for is asked of others, too, and at once: its answer may be lost,
/// and there is nothing else to wait for.
void Puller::begin_endgame(Instant now, ChunkMap& map) {
    for (std::size_t i = 0; i < map.open_count(); ++i) {
        map.at(i).asked.clear();
    }
    const Instant soon = now + timeout(0, true);
    for (Asked& asked : asked_) {
        asked.expires_at = std::min(asked.expires_at, soon);
    }
    look(now, true);
}

/// Of how many peers a chunk is asked at once. The first block says where all others go: until
/// it is here they can't be stored.
std::uint32_t Puller::copies(BlockIndex block) const {
    const bool is_urgent = is_endgame_ || block.value() == 0;
    return is_urgent ? std::min<std::uint32_t>(limits_.endgame_peers, peers_.members() - 1U)
                     : 1;
}

/// How often the time-out doubles: one or two silences are lost packets, more are a network
/// that has no room, or is gone.
std::uint32_t Puller::patience(const OpenBlock& open) const {
    const std::uint32_t rounds = open.silences / std::max(copies(open.block), 1U);
    return rounds - std::min<std::uint32_t>(rounds, limits_.silences_free);
}

/// What a whole request takes at this member's rate, and so at its peers': an answer may have
/// to wait for another asker's.
Duration Puller::turn() const {
    const std::uint64_t bytes = std::uint64_t{limits_.request_chunks_max} * packet_bytes_;
    return Duration{static_cast<Duration::rep>(bytes * 1'000'000'000 / rate_)};
}

Duration Puller::timeout(std::uint32_t failures, bool is_urgent) const {
    return is_urgent ? round_trip_.hasty_timeout(failures,
                                                 std::max(limits_.endgame_margin_min, turn()))
                     : round_trip_.timeout(failures, 2 * turn());
}

}  // namespace stage::core
