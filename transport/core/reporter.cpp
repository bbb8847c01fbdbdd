#include "transport/core/reporter.h"

#include <algorithm>

namespace stage::core {
namespace {

/// Place of a rank among the receivers, the source left out.
std::uint32_t receiver_index(const CoreConfig& config, Rank rank) {
    return rank.value() - (rank > config.source ? 1U : 0U);
}

}  // namespace

std::uint32_t representatives_of(const CoreConfig& config, std::uint16_t representatives) {
    return std::min<std::uint32_t>(config.members - 1U, representatives);
}

bool is_representative(const CoreConfig& config, std::uint16_t representatives, Rank rank) {
    const std::uint64_t receivers = config.members - 1U;
    const std::uint64_t index = receiver_index(config, rank);
    const std::uint64_t wanted = representatives_of(config, representatives);
    // Evenly spread: those at which floor(index * wanted / receivers) steps up.
    return rank != config.source &&
           (index == 0 || index * wanted / receivers != (index - 1) * wanted / receivers);
}

Reporter::Reporter(const CoreConfig& config, const FeedbackLimits& limits, Prng& prng)
    : limits_{limits},
      source_{config.source},
      is_representative_{is_representative(config, limits.representatives, config.own)},
      heartbeat_{config.stall_timeout / limits.stall_fraction},
      gap_{is_representative_ ? std::min(limits.interval, heartbeat_) : heartbeat_},
      blocks_step_{std::max(config.resident_blocks / 8U, 1U)},
      phase_{static_cast<Duration::rep>(
          prng.below(static_cast<std::uint64_t>(std::max<Duration::rep>(gap_.count(), 1))))} {
}

void Reporter::on_source_packet(std::uint64_t packet_number, bool to_group) {
    highest_ = std::max(highest_, packet_number);
    received_ += to_group ? 1U : 0U;
}

void Reporter::on_source_time(Instant now, std::uint64_t source_time_us) {
    source_time_us_ = source_time_us;
    source_time_heard_ = now;
}

void Reporter::poll(Instant now,
                    const Frontier& frontier,
                    const ChunkMap& map,
                    ControlQueue& out) {
    if (!next_at_) {
        next_at_ = now + phase_;
        reported_at_ = now;
        reported_highest_ = highest_;
        return;
    }
    const bool is_ahead = is_representative_ && map.held() >= reported_held_ + blocks_step_ &&
                          now >= reported_at_ + limits_.interval_min;
    if (now < *next_at_ && !is_ahead) {
        return;
    }
    wire::Report report = build(now, map);
    if (is_representative_) {
        add_missing(frontier.settled(), map, report);
        const bool is_quiet = frontier.is_ended() && report.missing.empty();
        gap_ =
            is_quiet ? std::min(gap_ * 2, heartbeat_) : std::min(limits_.interval, heartbeat_);
    }
    next_at_ = now + gap_;
    reported_at_ = now;
    out.push_peer(wire::PacketType::report, source_, wire::write(report));
}

wire::Report Reporter::build(Instant now, const ChunkMap& map) {
    wire::Report report;
    const std::uint64_t numbers = highest_ - std::min(reported_highest_, highest_);
    report.highest = highest_;
    report.received = received_;
    report.lost = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        numbers - std::min<std::uint64_t>(received_, numbers), 0xffffffffU));
    report.echo_us = source_time_us_;
    report.hold_us = static_cast<std::uint32_t>(
        std::clamp<Duration::rep>((now - source_time_heard_).count() / 1000, 0, 0xffffffff));
    report.blocks_held = map.held();
    reported_highest_ = highest_;
    received_ = 0;
    reported_held_ = map.held();
    return report;
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
        const std::uint32_t told_below = add_missing_of(open, from, below, report);
        if (told_below < below) {
            reported_ = {.block = block, .chunk = told_below};  // the rest next time
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
