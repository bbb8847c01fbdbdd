#include "transport/core/receiver/group_standing.h"

#include "transport/core/base/repeater.h"

namespace stage::core {

GroupStanding::GroupStanding(const CoreConfig& config, const Limits& limits, Prng& prng)
    : source_{config.source}, leave_{config, limits, prng}, reach_{config, limits.ending} {
}

void GroupStanding::on_packet(Instant now, const Datagram& datagram) {
    const bool is_sources = datagram.header.rank == source_;
    if (datagram.to_group ? is_sources : datagram.header.is_data()) {
        leave_.on_arrival(datagram);
    }
    if (is_sources && !datagram.to_group) {
        reach_.on_alone(now);
    } else if (is_sources && reach_.on_group(now)) {
        leave_.stop_asking();
    }
}

bool GroupStanding::on_pulse(Instant now,
                             const Datagram& datagram,
                             const wire::Pulse& pulse,
                             bool may_leave) {
    return (may_leave || !datagram.to_group) && leave_.on_pulse(now, datagram, pulse);
}

bool GroupStanding::watch(Instant now) {
    if (leave_.is_away()) {
        reach_.on_group(now);
    }
    const GroupReach::Step step = reach_.look(now);
    if (step == GroupReach::Step::ask) {
        leave_.ask(now);
    }
    const bool is_back = reach_.take_return();
    if (step != GroupReach::Step::unreachable && !is_back) {
        return false;
    }
    leave_.set_unreachable(now, !is_back);
    return true;
}

std::optional<Instant> GroupStanding::deadline() const {
    return earlier(leave_.deadline(), reach_.deadline());
}

std::optional<OperationKind> GroupStanding::take_move() {
    if (leave_.is_away() == is_out_) {
        return std::nullopt;
    }
    is_out_ = leave_.is_away();
    return is_out_ ? OperationKind::leave_group : OperationKind::join_group;
}

void GroupStanding::go_on_as(Instant now, const GroupStanding& other) {
    reach_ = other.reach_;
    leave_.go_on_as(now, other.leave_);
}

}  // namespace stage::core
