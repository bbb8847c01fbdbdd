#include "transport/core/repair/peer_choice.h"

#include <algorithm>
#include <chrono>

namespace stage::core {
namespace {

constexpr std::uint32_t kDraws = 8;
constexpr unsigned kStrikesFree = 1;  ///< A single time-out may be a lost packet.
/// How long a peer is suspect, doubled by each further time-out.
constexpr Duration kSuspicion = std::chrono::milliseconds{20};
constexpr unsigned kStrikesMax = 8;  ///< Time-outs that double it: 2.5 s at most.

}  // namespace

bool PeerChoice::is_suspect(Instant now, Rank peer) const {
    return std::ranges::any_of(suspects_, [&](const Suspect& suspect) {
        return suspect.strikes > kStrikesFree && suspect.peer == peer && now < suspect.until;
    });
}

/// The first, the second, ... before the own one in a ring.
Rank PeerChoice::candidate(std::uint32_t draw, PeerPolicy policy) {
    const std::uint64_t peer = policy == PeerPolicy::random
                                   ? prng_.below(members_)
                                   : (own_.value() + 2U * members_ - 1U - draw) % members_;
    return Rank{static_cast<std::uint16_t>(peer)};
}

Rank PeerChoice::draw(Instant now,
                      std::span<const Rank> avoid,
                      bool ask_source,
                      PeerPolicy policy) {
    std::optional<Rank> silent;
    std::optional<Rank> empty;
    // (Those to be avoided are the next ones of a ring, more or less.)
    const auto passed = static_cast<std::uint32_t>(avoid.size());
    const std::uint32_t draws = policy == PeerPolicy::random
                                    ? kDraws
                                    : std::min<std::uint32_t>(kDraws + passed, members_ - 1U);
    for (std::uint32_t i = 0; i < draws; ++i) {
        const Rank peer = candidate(i, policy);
        const bool is_excluded = peer == own_ || (peer == source_ && !ask_source) ||
                                 std::ranges::find(avoid, peer) != avoid.end();
        if (is_excluded) {
            continue;
        }
        if (is_suspect(now, peer)) {
            silent = peer;
        } else if (policy != PeerPolicy::random || !lacking_.has(peer.value())) {
            return peer;
        } else if (!empty) {
            empty = peer;
        }
    }
    if (empty) {
        return *empty;
    }
    return ask_source ? source_ : silent.value_or(source_);
}

void PeerChoice::on_timeout(Instant now, Rank peer) {
    auto* suspect = std::ranges::find_if(suspects_, [&](const Suspect& candidate) {
        return candidate.strikes > 0 && candidate.peer == peer;
    });
    if (suspect == suspects_.end()) {
        suspect = &suspects_[next_suspect_];
        next_suspect_ = (next_suspect_ + 1) % kSuspects;
        *suspect = {.peer = peer};
    }
    suspect->strikes = static_cast<std::uint8_t>(std::min(suspect->strikes + 1U, kStrikesMax));
    suspect->until = now + kSuspicion * (std::int64_t{1} << (suspect->strikes - 1U));
}

void PeerChoice::on_answer(Rank peer) {
    for (Suspect& suspect : suspects_) {
        if (suspect.peer == peer) {
            suspect.strikes = 0;
        }
    }
}

}  // namespace stage::core
