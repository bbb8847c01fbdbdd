#include "transport/core/feedback/reporter.h"

#include "transport/core/base/repeater.h"
#include "transport/core/base/timeouts.h"
#include "transport/core/feedback/representatives.h"

#include <algorithm>

namespace stage::core {

Reporter::Reporter(const CoreConfig& config, const FeedbackLimits& limits, Prng& prng)
    : limits_{limits},
      own_{config.own},
      source_{config.source},
      prng_{prng},
      is_representative_{are_all_representatives(config, limits)},
      heartbeat_{heartbeat_every(config, limits)},
      gap_{is_representative_ ? std::min(limits.interval, heartbeat_) : heartbeat_},
      blocks_step_{std::max(config.resident_blocks / 8U, 1U)},
      representatives_{representatives_of(config, limits)},
      phase_{draw_phase()} {
}

/// Members that begin together do not report together.
Duration Reporter::draw_phase() {
    return Duration{static_cast<Duration::rep>(
        prng_.below(static_cast<std::uint64_t>(std::max<Duration::rep>(gap_.count(), 1))))};
}

void Reporter::on_named(Instant now, const wire::Representatives& named) {
    // (An earlier set may arrive later. Versions wrap.)
    if (static_cast<std::int16_t>(named.version - version_) <= 0 || is_rare_) {
        return;
    }
    version_ = named.version;
    const bool is_one = std::ranges::find(named.ranks, own_) != named.ranks.end();
    if (is_one == is_representative_) {
        return;
    }
    is_representative_ = is_one;
    gap_ = is_one ? std::min(limits_.interval, heartbeat_) : heartbeat_;
    if (next_at_) {
        next_at_ = now + draw_phase();
    } else {
        phase_ = draw_phase();
    }
}

/// Longer where the stream is slow: the source hears no more reports than it sends packets, by
/// far.
Duration Reporter::interval() const {
    const std::uint32_t packets = limits_.interval_packets * representatives_;
    const std::uint32_t a_second = arrivals_.packets_per_s();
    const Duration slow =
        a_second > 0 ? Duration{std::chrono::seconds{packets}} / a_second : Duration::zero();
    return std::min(std::clamp(slow, limits_.interval, limits_.interval_slow), heartbeat_);
}

/// When the source should hear of what happened, before the next report's time, if it should.
std::optional<Instant> Reporter::due_at(const ChunkMap& map) const {
    if (!is_representative_ || is_away_) {
        return std::nullopt;
    }
    const std::uint64_t heard = arrivals_.heard_ever();
    const bool is_young = heard < limits_.start_packets;
    const Duration least = is_young
                               ? limits_.interval_start
                               : std::max<Duration>(limits_.interval_start,
                                                    limits_.report_time * representatives_);
    const std::uint64_t packets = std::clamp<std::uint64_t>(
        heard / 8,
        limits_.report_packets_min,
        limits_.report_packets_each * (representatives_ + std::uint64_t{1}));
    std::optional<Instant> due;
    if (arrivals_.heard() >= packets) {
        due = reported_at_ + least;
    }
    if (map.held() >= reported_held_ + blocks_step_) {
        due = earlier(due, reported_at_ + limits_.interval_min);
    }
    return due;
}

std::optional<Instant> Reporter::deadline(const ChunkMap& map) const {
    return next_at_ ? earlier(next_at_, due_at(map)) : std::nullopt;
}

void Reporter::poll(Instant now,
                    const HighestReceived& highest_received,
                    const ChunkMap& map,
                    std::uint32_t placed,
                    ControlQueue& out) {
    if (!next_at_) {
        next_at_ = now + phase_;
        reported_at_ = now;
        return;
    }
    if (now < *deadline(map)) {
        return;
    }
    wire::Report report;
    arrivals_.take(now, report);
    report.blocks_held = map.held();
    report.placed = placed;
    reported_held_ = map.held();
    gap_ = is_away_ ? heartbeat_ : gap_;
    if (is_representative_ && !is_away_) {
        add_missing(highest_received.settled(), map, report);
        const bool is_quiet = highest_received.is_ended() && report.missing.empty();
        gap_ = is_quiet ? std::min(gap_ * 2, heartbeat_) : interval();
    }
    next_at_ = now + gap_;
    reported_at_ = now;
    out.push_peer(wire::PacketType::report, source_, wire::write(report));
}

/// What of the open blocks is missing between what was reported and what has settled.
void Reporter::add_missing(const Position& settled, const ChunkMap& map, wire::Report& report) {
    for (std::size_t i = 0; i < map.open_count(); ++i) {
        const OpenBlock& open = map.at(i);
        const std::uint32_t block = open.block.value();
        if (block > settled.block) {
            break;
        }
        if (block < reported_.block || open.chunks == 0 || open.state != OpenState::filling) {
            continue;
        }
        const std::uint32_t from = block == reported_.block ? reported_.chunk : 0;
        const std::uint32_t below =
            block == settled.block ? std::min(settled.chunk, open.chunks) : open.chunks;
        const std::uint32_t reported_below = add_missing_of(open, from, below, report);
        if (reported_below < below) {
            reported_ = {.block = block, .chunk = reported_below};  // the rest next time
            return;
        }
    }
    reported_ = std::max(reported_, settled);
}

/// Lists what a block lacks in [from, below). Gives how far it came before the report was full.
std::uint32_t Reporter::add_missing_of(const OpenBlock& open,
                                       std::uint32_t from,
                                       std::uint32_t below,
                                       wire::Report& report) {
    std::uint32_t first = open.have.next_absent(from);
    while (first < below) {
        if (report.missing.size() == wire::kMaxRuns) {
            return first;
        }
        const std::uint32_t end = std::min(open.have.next(first), below);
        report.missing.push_back({.block = open.block,
                                  .first = static_cast<std::uint16_t>(first),
                                  .count = static_cast<std::uint16_t>(end - first)});
        first = open.have.next_absent(end);
    }
    return below;
}

}  // namespace stage::core
