#include "transport/core/membership/unreachable_members.h"

namespace stage::core {

void UnreachableMembers::on_sends(std::span<const Send> sends) {
    for (const Send& send : sends) {
        packets_ += send.to.to_group ? send.count : 0U;
    }
}

bool UnreachableMembers::on_left(Rank from, const wire::Left& left) {
    const bool is_unreachable = left.standing == wire::Standing::unreachable;
    if ((!is_unreachable && left.standing != wire::Standing::in_group) ||
        from.index() >= count_max_) {
        return false;
    }
    members_.resize(count_max_);
    Member& member = members_[from.index()];
    if (left.id < member.id) {
        return false;  // an earlier state arrived later
    }
    const bool was_unreachable = member.is_unreachable;
    member = {.is_unreachable = is_unreachable, .id = left.id};
    count_ = static_cast<std::uint16_t>(count_ + (is_unreachable ? 1 : 0) -
                                        (was_unreachable ? 1 : 0));
    return is_unreachable != was_unreachable;
}

bool UnreachableMembers::are_all(const RankSet& settled, Rank source) const {
    std::uint32_t unsettled = 0;
    for (std::uint32_t i = 0; count_ > 0 && i < count_max_; ++i) {
        const Rank rank{static_cast<std::uint16_t>(i)};
        if (rank == source || settled.has(rank)) {
            continue;
        }
        if (!has(rank)) {
            return false;
        }
        ++unsettled;
    }
    return unsettled > 0;
}

wire::Pulse UnreachableMembers::pulse(Instant now, Position cursor, std::uint32_t echo) const {
    return {.sent_at_ns = static_cast<std::uint64_t>(now.time_since_epoch().count()),
            .packets = packets_,
            .block = BlockIndex{cursor.block},
            .chunk = static_cast<std::uint16_t>(cursor.chunk),
            .away = count_,
            .echo = echo};
}

}  // namespace stage::core
