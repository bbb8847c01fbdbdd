#include "transport/core/repair/group_repair.h"

#include "transport/core/repair/end_game.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace stage::core {
namespace {

/// Times the usual number of failures before a member outside the group asks the source during
/// the first pass: many of its peers may be outside as well, and the source has a stream to
/// send.
constexpr unsigned kOutsideFactor = 4;
/// Doublings of the number of members that ask the source: all of the largest group.
constexpr unsigned kDoublingsMax = 16;
/// The window is what the rate brings in this number of RTTs: an answer is under way, and the
/// request for the next one.
constexpr std::int64_t kWindowTrips = 2;
constexpr std::uint64_t kBytesPerMb = 1'000'000;
constexpr std::int64_t kNsPerUs = 1'000;

}  // namespace

/// During the first pass the source sends requested chunks to the group. So only a member whose
/// peers answered LACKING may ask it, not one whose answers were lost.
bool GroupRepair::should_ask_source(const Query& query,
                                    const OpenBlock& open,
                                    PeerChoice& peers) const {
    const unsigned usual = limits_.failures_before_source;
    const unsigned most = query.is_outside && !query.is_ended ? kOutsideFactor * usual : usual;
    const unsigned failures = (query.is_ended ? open.failures : open.refusals) / query.copies;
    if (!query.chosen.empty() || failures < most) {
        return false;
    }
    const std::uint64_t askers = std::uint64_t{limits_.source_askers}
                                 << std::min(failures - most, kDoublingsMax);
    return peers.prng().below(peers.members()) < askers;
}

Rank GroupRepair::choose(const Query& query, const OpenBlock& open, PeerChoice& peers) const {
    if (should_ask_source(query, open, peers)) {
        return peers.source();
    }
    std::array<Rank, std::tuple_size_v<decltype(open.lacking)> + EndGame::kCopiesMax> avoid{};
    const std::size_t lacking = std::min<std::size_t>(open.lacking_count, open.lacking.size());
    const auto end = std::copy_n(open.lacking.begin(), lacking, avoid.begin());
    std::ranges::copy(query.chosen, end);
    return peers.draw(query.now, {avoid.data(), lacking + query.chosen.size()}, query.is_ended);
}

std::uint32_t GroupRepair::window(const RttEstimator& round_trip,
                                  std::uint64_t rate_bytes_per_s) const {
    const Duration slack =
        std::min(round_trip.jitter(limits_.in_flight_slack), limits_.in_flight_slack);
    const Duration span = round_trip.mean() + slack;
    const std::uint64_t bytes =
        rate_bytes_per_s / kBytesPerMb *
        static_cast<std::uint64_t>(span.count() / (kNsPerUs / kWindowTrips));
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
        bytes / packet_bytes_, limits_.in_flight_chunks_min, limits_.in_flight_chunks_max));
}

}  // namespace stage::core
