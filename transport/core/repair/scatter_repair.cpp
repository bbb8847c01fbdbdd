#include "transport/core/repair/scatter_repair.h"

#include <algorithm>

namespace stage::core {
namespace {

/// After this number of members in a row that cannot own a share the requester owns it.
constexpr std::uint32_t kPassedOver = 16;
/// Times the usual number of failures, before the source is asked for the shares of others.
constexpr unsigned kFailuresFactor = 4;
/// A share goes from the source to its owner, and from there to others: two rounds.
constexpr int kStartRounds = 2;
/// Doublings of the number of members that ask the source: all of the largest group.
constexpr unsigned kDoublingsMax = 16;

}  // namespace

ScatterRepair::ScatterRepair(const RepairLimits& limits, std::uint32_t chunk_bytes)
    : share_chunks_{limits.request_chunks_max},
      shares_max_{((kBlockBytes - 1) / chunk_bytes + share_chunks_) / share_chunks_},
      requests_at_source_{limits.share_requests},
      failures_before_source_{limits.failures_before_source},
      start_min_{limits.swarm_start_min} {
}

void ScatterRepair::begin(Instant now, Duration round) {
    since_ = since_.value_or(now);
    now_ = now;
    is_starting_ = now < *since_ + std::max<Duration>(start_min_, kStartRounds * round);
}

/// A member that holds the object from before owns no share: it lacks what it is asked for and
/// never sends anything. Neither does one that lets requests time out.
bool ScatterRepair::can_own(Rank peer, const PeerChoice& peers) const {
    if (peer == peers.own()) {
        return true;
    }
    const bool may_have = is_starting_ || peers.has_given(peer) || !peers.has_lacked(peer);
    return may_have && !peers.is_suspect(now_, peer);
}

/// Shares go round among the receivers. If one cannot own its share, the next one does.
Rank ScatterRepair::owner(BlockIndex block,
                          std::uint32_t chunk,
                          const PeerChoice& peers) const {
    const std::uint64_t share =
        std::uint64_t{block.value()} * shares_max_ + chunk / share_chunks_;
    const std::uint32_t receivers = peers.members() - 1U;
    for (std::uint32_t i = 0; i < std::min(receivers, kPassedOver); ++i) {
        const auto receiver = static_cast<std::uint16_t>((share + i) % receivers);
        const bool is_behind = receiver >= peers.source().value();
        const Rank peer{static_cast<std::uint16_t>(receiver + (is_behind ? 1U : 0U))};
        if (can_own(peer, peers)) {
            return peer;
        }
    }
    return peers.own();
}

/// The source has its number of this member's requests: by the member's part of what a path
/// takes, few have it all under way.
bool ScatterRepair::is_source_busy(const Room& room, std::uint16_t members) const {
    const std::uint32_t part = room.window / room.chunks_max / (members - 1U);
    return room.requests_at_source >= std::max(requests_at_source_, part);
}

/// The first own share; without one each member begins elsewhere.
std::uint32_t ScatterRepair::first_own(const OpenBlock& open,
                                       std::uint32_t shares,
                                       const PeerChoice& peers) const {
    for (std::uint32_t i = 0; i < shares; ++i) {
        if (owner(open.block, i * share_chunks_, peers) == peers.own()) {
            return i;
        }
    }
    return shares * peers.own().value() / peers.members();
}

void ScatterRepair::gather(const OpenBlock& open,
                           const Room& room,
                           const PeerChoice& peers,
                           RepairRequest& request) const {
    const std::uint32_t shares = (open.chunks + share_chunks_ - 1) / share_chunks_;
    const std::uint32_t first = first_own(open, shares, peers);
    const bool is_busy = is_source_busy(room, peers.members());
    for (std::uint32_t i = 0; i < shares && request.left == 0; ++i) {
        const std::uint32_t later = i > 0 ? 1 + (i - 1 + open.failures) % (shares - 1) : 0;
        const std::uint32_t begin = (first + later) % shares * share_chunks_;
        if (is_busy && owner(open.block, begin, peers) == peers.own()) {
            continue;
        }
        request.gather(
            open, begin, std::min(begin + share_chunks_, open.chunks), room.chunks_max);
    }
}

/// A peer that lacks the chunks is next asked for others, and these from other peers: so the
/// source is seldom asked twice.
Rank ScatterRepair::choose(const OpenBlock& open,
                           const RepairRequest& request,
                           PeerChoice& peers) const {
    const Rank peer = owner(open.block, request.chunks[0], peers);
    if (peer == peers.own()) {
        // (If some members hear the group, any of them has it.)
        return open.failures == 0 ? peers.draw_any(now_, {}) : peers.source();
    }
    const unsigned over = open.failures / (kFailuresFactor * failures_before_source_);
    if (over > 0 &&
        peers.prng().below(peers.members()) < (1ULL << std::min(over, kDoublingsMax))) {
        return peers.source();
    }
    return open.failures % 2 == 0 ? peer : peers.draw_any(now_, {&peer, 1});
}

}  // namespace stage::core
