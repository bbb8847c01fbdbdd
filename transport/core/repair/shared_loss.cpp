#include "transport/core/repair/shared_loss.h"

#include <algorithm>

namespace stage::core {
namespace {

/// In place of a count of votes: the chunk was sent to the group since, so the votes have had
/// their effect.
constexpr std::uint8_t kRepeated = 255;

/// Appends a chunk to the last run if it follows it, else begins one.
void append(std::vector<wire::ChunkRun>& runs, BlockIndex block, std::uint32_t chunk) {
    if (!runs.empty() && runs.back().block == block &&
        std::uint32_t{runs.back().first} + runs.back().count == chunk) {
        ++runs.back().count;
    } else {
        runs.push_back(
            {.block = block, .first = static_cast<std::uint16_t>(chunk), .count = 1});
    }
}

/// A single representative cannot tell a shared loss from its own; it requests what it misses
/// anyway.
std::uint32_t half_of(std::uint32_t representatives) {
    return std::max((representatives + 1U) / 2U, 2U);
}

}  // namespace

SharedLoss::SharedLoss(const FeedbackLimits& limits,
                       std::uint32_t representatives,
                       std::uint32_t chunks_max)
    : limits_{limits}, threshold_{half_of(representatives)}, chunks_max_{chunks_max} {
}

void SharedLoss::set_representatives(std::uint32_t representatives) {
    threshold_ = half_of(representatives);
    has_moved_ = true;
}

SharedLoss::Votes& SharedLoss::votes_of(BlockIndex block) {
    const auto found = std::ranges::find(votes_, block, &Votes::block);
    if (found != votes_.end()) {
        found->touched = ++touches_;
        return *found;
    }
    if (votes_.size() < limits_.votes_blocks_max) {
        votes_.push_back({.block = block,
                          .touched = ++touches_,
                          .counts = std::vector<std::uint8_t>(chunks_max_)});
        return votes_.back();
    }
    Votes& oldest = *std::ranges::min_element(votes_, {}, &Votes::touched);
    oldest.block = block;
    oldest.touched = ++touches_;
    std::ranges::fill(oldest.counts, std::uint8_t{0});
    return oldest;
}

void SharedLoss::on_missing(const wire::ChunkRun& run, std::vector<wire::ChunkRun>& repeat) {
    const std::uint32_t end =
        std::min<std::uint32_t>(run.first + std::uint32_t{run.count}, chunks_max_);
    if (run.first >= end) {
        return;
    }
    Votes& votes = votes_of(run.block);
    for (std::uint32_t chunk = run.first; chunk < end; ++chunk) {
        std::uint8_t& count = votes.counts[chunk];
        if (count >= kRepeated) {
            continue;
        }
        ++count;
        // A threshold that has moved may have passed what was counted before.
        if (count == threshold_ || (has_moved_ && count > threshold_)) {
            append(repeat, run.block, chunk);
        }
    }
}

SharedLoss::Recent& SharedLoss::recent_of(Instant now, BlockIndex block) {
    const auto found = std::ranges::find(recent_, block, &Recent::block);
    if (found != recent_.end()) {
        return *found;
    }
    if (recent_.size() < limits_.votes_blocks_max) {
        recent_.push_back({.block = block,
                           .asked_since = now,
                           .repeated_since = now,
                           .asker = {},
                           .asked = ChunkSet{chunks_max_},
                           .repeated = ChunkSet{chunks_max_}});
        return recent_.back();
    }
    Recent& oldest = *std::ranges::min_element(recent_, {}, &Recent::asked_since);
    oldest.block = block;
    oldest.asked_since = now;
    oldest.repeated_since = now;
    oldest.asked.clear();
    oldest.repeated.clear();
    return oldest;
}

void SharedLoss::forget(Instant now, Duration window, Recent& recent) const {
    if (now - recent.asked_since > limits_.shared_window) {
        recent.asked_since = now;
        recent.asked.clear();
    }
    if (now - recent.repeated_since > window) {
        recent.repeated_since = now;
        recent.repeated.clear();
    }
}

void SharedLoss::on_request(Instant now,
                            const Asking& asking,
                            const wire::Request& request,
                            wire::Request& alone,
                            std::vector<wire::ChunkRun>& repeat) {
    // A request's runs of one block follow each other, so the last requester is that of the
    // block's previous request.
    BlockIndex last;
    Rank before = asking.from;
    for (const wire::ChunkRun& run : request.runs) {
        if (run.count == 0) {
            alone.runs.push_back(run);
            continue;
        }
        Recent& recent = recent_of(now, run.block);
        const bool is_same_block = run.block == last && &run != &request.runs.front();
        before = is_same_block ? before : recent.asker;
        last = run.block;
        forget(now, asking.window, recent);
        sort(run,
             {.is_lost_by_peers = asking.is_lost_by_peers,
              .is_another = before != asking.from,
              .alone = alone,
              .repeat = repeat},
             recent);
        recent.asker = asking.from;
    }
}

/// Sorts the run's chunks by destination: the group or the requester.
void SharedLoss::sort(const wire::ChunkRun& run, const Sorting& how, Recent& recent) const {
    const std::uint32_t end =
        std::min<std::uint32_t>(run.first + std::uint32_t{run.count}, chunks_max_);
    for (std::uint32_t chunk = run.first; chunk < end; ++chunk) {
        if (recent.repeated.has(chunk)) {
            continue;
        }
        if (how.is_lost_by_peers || (how.is_another && recent.asked.has(chunk))) {
            append(how.repeat, run.block, chunk);
        } else if (how.alone.runs.size() < wire::kMaxRuns) {
            recent.asked.add(chunk);
            append(how.alone.runs, run.block, chunk);
        }
    }
}

void SharedLoss::on_repeat(Instant now, const wire::ChunkRun& run) {
    Recent& recent = recent_of(now, run.block);
    forget(now, limits_.repeat_window_max, recent);
    Votes& votes = votes_of(run.block);
    const std::uint32_t end =
        std::min<std::uint32_t>(run.first + std::uint32_t{run.count}, chunks_max_);
    for (std::uint32_t chunk = run.first; chunk < end; ++chunk) {
        recent.repeated.add(chunk);
        votes.counts[chunk] = kRepeated;
    }
}

}  // namespace stage::core
