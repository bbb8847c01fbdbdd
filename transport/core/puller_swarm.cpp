// Whom does a member ask for what, where all may have to fetch all of it?
//
// If all asked for the first chunks first, all would ask the source. So the chunks of a block
// are shared out among the receivers: of its share a member is the *keeper*; it asks the source
// for it, a little at a time, and the others' keepers for theirs. What leaves the source is
// then given on by everybody, and nearly all of the object leaves it once, as in R. Thakur,
// R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH"
// (2005), a broadcast is a scatter and an allgather; but who answers first is asked first, and
// a keeper that is dead or behind costs one answer.
#include "transport/core/puller.h"

#include <algorithm>
#include <utility>

namespace stage::core {
namespace {

/// Who keeps nothing, in a row: then a member sees to the share itself.
constexpr std::uint32_t kPassedOver = 16;
/// So many times as many refusals as usual before the source is asked for others' shares.
constexpr unsigned kPatience = 4;

}  // namespace

/// As long as all who need something can have got some of their first share from the source,
/// and have given of it.
Duration Puller::swarm_start() const {
    const std::uint64_t share = std::uint64_t{limits_.request_chunks_max} * packet_bytes_;
    return std::max<Duration>(limits_.swarm_start_min, 2 * time_of(share * peers_.members()));
}

/// Who holds the object from before keeps nothing for others: it lacks what it is asked for,
/// and never gives anything.
bool Puller::is_keeper(Instant now, Rank peer) const {
    return peer == peers_.own() || now < *swarm_since_ + swarm_start() ||
           peers_.has_given(peer) || !peers_.has_lacked(peer);
}

/// Shares are as long as a request, and go round among the receivers; what one of them doesn't
/// keep the next one does.
Rank Puller::keeper(Instant now, BlockIndex block, std::uint32_t chunk) const {
    const std::uint32_t length = limits_.request_chunks_max;
    const std::uint32_t chunks = (kBlockBytes - 1) / (packet_bytes_ - kWireOverheadBytes) + 1;
    const std::uint64_t share =
        std::uint64_t{block.value()} * ((chunks + length - 1) / length) + chunk / length;
    const std::uint32_t receivers = peers_.members() - 1U;
    for (std::uint32_t i = 0; i < std::min(receivers, kPassedOver); ++i) {
        const auto receiver = static_cast<std::uint16_t>((share + i) % receivers);
        const bool is_behind = receiver >= peers_.source().value();
        const Rank peer{static_cast<std::uint16_t>(receiver + (is_behind ? 1U : 0U))};
        if (is_keeper(now, peer)) {
            return peer;
        }
    }
    return peers_.own();
}

/// By this member's part of what a path takes: few have it all under way.
bool Puller::is_source_busy() const {
    const std::uint32_t part = window() / request_max() / (peers_.members() - 1U);
    return std::cmp_greater_equal(std::ranges::count(asked_, peers_.source(), &Asked::peer),
                                  std::max<std::uint32_t>(limits_.share_requests, part));
}

/// Chunks of one share, the own ones first; then of those that follow.
void Puller::gather_share(Instant now, const OpenBlock& open, Asked& asked) const {
    const std::uint32_t length = limits_.request_chunks_max;
    const std::uint32_t shares = (open.chunks + length - 1) / length;
    std::uint32_t first = shares * peers_.own().value() / peers_.members();
    for (std::uint32_t i = 0; i < shares; ++i) {
        if (keeper(now, open.block, i * length) == peers_.own()) {
            first = i;
            break;
        }
    }
    const bool is_source_busy_now = is_source_busy();
    const std::uint32_t most = request_max();
    for (std::uint32_t i = 0; i < shares && asked.left == 0; ++i) {
        const std::uint32_t later = i > 0 ? 1 + (i - 1 + open.failures) % (shares - 1) : 0;
        const std::uint32_t begin = (first + later) % shares * length;
        if (is_source_busy_now && keeper(now, open.block, begin) == peers_.own()) {
            continue;
        }
        const std::uint32_t end = std::min(begin + length, open.chunks);
        for (std::uint32_t chunk = open.have.next_absent(begin);
             chunk < end && asked.left < most;
             chunk = open.have.next_absent(chunk + 1)) {
            if (!open.asked.has(chunk)) {
                asked.chunks[asked.left++] = static_cast<std::uint16_t>(chunk);
            }
        }
    }
}

/// Who answers that it lacks the chunks is asked for others next, and the others are: so it is
/// seldom the source that is asked twice.
Rank Puller::choose_of_swarm(Instant now, const OpenBlock& open, const Asked& asked) {
    const Rank peer = keeper(now, open.block, asked.chunks[0]);
    if (peer == peers_.own()) {
        // (Where others hear the group any of them has it.)
        return open.failures == 0 ? peers_.draw(now, {}, false) : peers_.source();
    }
    const unsigned over = open.failures / (kPatience * limits_.failures_before_source);
    if (over > 0 && peers_.prng().below(peers_.members()) < (1ULL << std::min(over, 16U))) {
        return peers_.source();
    }
    return open.failures % 2 == 0 ? peer : peers_.draw(now, {&peer, 1}, false);
}

}  // namespace stage::core
