#include "transport/core/membership/away_members.h"

#include <algorithm>
#include <chrono>

namespace stage::core {

AwayMembers::AwayMembers(const CoreConfig& config, const LeaveLimits& limits, bool is_short)
    : limits_{limits},
      is_on_{config.policies.leave == LeavePolicy::congested && !is_short &&
             config.rate_bytes_per_s == 0 && config.policies.rate == RatePolicy::quantile},
      count_max_{config.members} {
}

bool AwayMembers::is_due(Instant now) {
    if (!is_on_ || !next_at_ || now < *next_at_) {
        return false;
    }
    next_at_ = now + limits_.pulse_interval;
    return true;
}

void AwayMembers::on_sends(std::span<const Send> sends) {
    for (const Send& send : sends) {
        packets_ += send.to.to_group ? send.count : 0U;
    }
}

bool AwayMembers::on_left(Rank from, const wire::Left& left) {
    // Only the site's configuration lets a member leave; being unreachable is not its choice.
    const bool is_choice =
        left.standing == wire::Standing::away || left.standing == wire::Standing::fetching;
    if ((is_choice && !is_on_) || from.index() >= count_max_) {
        return false;
    }
    members_.resize(count_max_);
    Member& member = members_[from.index()];
    if (left.id < member.id) {
        return false;  // an earlier state arrived later
    }
    const bool was_away = is_outside(member.standing);
    const bool is_away = is_outside(left.standing);
    member = {.standing = left.standing, .id = left.id};
    away_ = static_cast<std::uint16_t>(away_ + (is_away ? 1 : 0) - (was_away ? 1 : 0));
    return is_away != was_away;
}

bool AwayMembers::are_all_away(const RankSet& settled, Rank source) const {
    std::uint32_t unsettled = 0;
    for (std::uint32_t i = 0; away_ > 0 && i < count_max_; ++i) {
        const Rank rank{static_cast<std::uint16_t>(i)};
        if (rank == source || settled.has(rank)) {
            continue;
        }
        if (!is_away(rank)) {
            return false;
        }
        ++unsettled;
    }
    return unsettled > 0;
}

wire::Pulse AwayMembers::pulse(Instant now, const Progress& how) const {
    const auto queue = std::chrono::duration_cast<std::chrono::microseconds>(how.queue);
    return {.sent_at_ns = static_cast<std::uint64_t>(now.time_since_epoch().count()),
            .packets = packets_,
            .block = BlockIndex{how.cursor.block},
            .chunk = static_cast<std::uint16_t>(how.cursor.chunk),
            .queue_us = static_cast<std::uint32_t>(
                std::clamp<std::int64_t>(queue.count(), 0, 0xffffffff)),
            .away = away_};
}

}  // namespace stage::core
