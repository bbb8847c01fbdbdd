#include "transport/core/relay/relay_progress.h"

#include "transport/core/base/timeouts.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace stage::core {

RelayProgress::RelayProgress(const CoreConfig& config,
                             const EndingLimits& limits,
                             const RelayTree& tree,
                             std::uint32_t blocks)
    : config_{config}, limits_{limits}, tree_{tree}, blocks_{blocks}, seen_{config.members} {
}

void RelayProgress::on_ready(Instant now, Rank child) {
    if (seen_.add(child)) {
        moved_at_ = now;
    }
}

void RelayProgress::on_gained(Instant now, std::uint64_t gained) {
    if (gained > std::exchange(gained_, gained)) {
        moved_at_ = now;
    }
}

void RelayProgress::forgive(Instant now, Duration away) {
    moved_at_ = std::min(moved_at_ + away, now);
    lost_at_ = std::min(lost_at_ + away, now);
    whole_at_ = std::min(whole_at_ + away, now);
}

void RelayProgress::look(Instant now,
                         const RelayChildren& children,
                         const BroadcastResult& result) {
    const bool was_all_held = std::exchange(is_all_held_, hold_all(children, result));
    if (was_all_held && !is_all_held_) {
        lost_at_ = lost_at_ < moved_at_ ? now : lost_at_ + (now - whole_at_);
    } else if (!was_all_held && is_all_held_) {
        whole_at_ = now;
    }
}

/// By what the connected members reported, and with those that were done before they were lost.
/// (Both sums wrap alike.)
bool RelayProgress::hold_all(const RelayChildren& children,
                             const BroadcastResult& result) const {
    const std::uint32_t missing =
        (config_.members - 1U - result.dropped_count()) * blocks_ - children.blocks_held();
    if (missing == 0 || blocks_ == 0) {
        return missing == 0;
    }
    // (Who is lost is looked for among all members, so only where that decides.)
    const std::uint32_t lost = missing / blocks_;
    return missing % blocks_ == 0 && lost <= result.done().count() &&
           lost_holders(children, result) == lost;
}

/// How many receivers hold the object, but are not connected.
std::uint32_t RelayProgress::lost_holders(const RelayChildren& children,
                                          const BroadcastResult& result) const {
    RankSet joined{config_.members};
    if (result.done().count() == 0 || !children.add_joined(joined)) {
        return 0;
    }
    joined.add(config_.source);
    return joined.add(result.done().runs(config_.members, joined));
}

std::vector<Rank> RelayProgress::stuck(const RelayChildren& children,
                                       const BroadcastResult& result) const {
    RankSet joined{config_.members};
    const bool is_known = children.add_joined(joined);
    std::vector<Rank> all;
    std::vector<Rank> lost;
    for (std::uint32_t place = 1; place < config_.members; ++place) {
        const Rank rank = tree_.at(place);
        if (result.settled().has(rank)) {
            continue;
        }
        all.push_back(rank);
        if (is_known && !joined.has(rank)) {
            lost.push_back(rank);
        }
    }
    return lost.empty() ? all : lost;
}

std::string RelayProgress::why() const {
    const std::string time = std::to_string(timeout() / std::chrono::seconds{1}) + " s";
    return seen_.count() == 0
               ? "no node has connected to the source within " + time +
                     ": the data ports (DataPortRange, TCP) are closed between the nodes"
               : "this node made no progress for " + time +
                     ": it crashed, or its disk or its network is stuck";
}

/// How long nothing may move before the members that are not done count as failed.
Duration RelayProgress::timeout() const {
    if (seen_.count() == 0) {
        return config_.ready_timeout;
    }
    return is_all_held_ ? finish_timeout(config_, limits_) : config_.stall_timeout;
}

/// A member that is lost while it finishes has the stall timeout to come back.
Instant RelayProgress::deadline() const {
    return (is_all_held_ ? moved_at_ : std::max(moved_at_, lost_at_)) + timeout();
}

}  // namespace stage::core
