// How does a member ask for what it can't wait for: the last chunks, and the first block?
//
// Of several peers at once, with short time-outs: what comes twice costs little there.
#include "transport/core/puller.h"

#include <algorithm>
#include <utility>

namespace stage::core {

/// How little is missing, where nothing else will come.
std::optional<std::uint32_t> Puller::missing_near_end(const ChunkMap& map) const {
    // Whatever is asked for is missing: most of the time that says enough.
    if (!is_ended_ || (!is_endgame_ && in_flight_ > limits_.endgame_chunks) ||
        map.held() + map.open_count() != map.blocks()) {
        return std::nullopt;
    }
    std::uint32_t missing = 0;
    for (std::size_t i = 0; i < map.open_count() && missing <= limits_.endgame_chunks; ++i) {
        const OpenBlock& open = map.at(i);
        missing += open.chunks == 0 ? map.blocks() : open.chunks - open.have.count();
    }
    return missing <= limits_.endgame_chunks ? std::optional{missing} : std::nullopt;
}

/// Chunks that the link takes in a round trip.
std::uint64_t Puller::trip_chunks() const {
    const Duration each = time_of(packet_bytes_);
    return round_trip_.is_known() && each > Duration::zero()
               ? static_cast<std::uint64_t>(round_trip_.mean() / each)
               : 0;
}

/// The endgame begins; or most of what was asked for came, and the rest may be lost: to ask
/// again costs less than to wait, where a round trip is longer than the answers.
bool Puller::should_ask_anew(const ChunkMap& map) {
    const auto missing = missing_near_end(map);
    const bool was_endgame = std::exchange(is_endgame_, missing.has_value());
    if (!missing || *missing == 0) {
        return false;
    }
    const bool is_part = *missing * limits_.endgame_part <= missing_;
    const bool is_cheap = std::uint64_t{*missing} * limits_.endgame_peers <= trip_chunks();
    if (was_endgame && !(is_part && is_cheap)) {
        return false;
    }
    missing_ = *missing;
    return true;
}

/// What one peer was asked for is asked of others, too, and at once: its answer may be lost,
/// and there is nothing else to wait for.
void Puller::ask_anew(Instant now, ChunkMap& map) {
    for (std::size_t i = 0; i < map.open_count(); ++i) {
        map.at(i).asked.clear();
    }
    const Instant soon = now + timeout(0, true);
    for (Asked& asked : asked_) {
        asked.expires_at = std::min(asked.expires_at, soon);
        asked.is_replaced = true;
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
    return time_of(std::uint64_t{limits_.request_chunks_max} * packet_bytes_);
}

Duration Puller::timeout(std::uint32_t failures, bool is_urgent) const {
    if (is_urgent) {
        return round_trip_.hasty_timeout(failures,
                                         std::max(limits_.endgame_margin_min, turn()));
    }
    const Duration usual = round_trip_.timeout(failures, std::max(margin(), 2 * turn()));
    // Who fetches alone would take it for a loss.
    return alone_ ? std::clamp(
                        late_.slowest() + margin(), usual, std::max(usual, limits_.timeout_max))
                  : usual;
}

}  // namespace stage::core
