// The receiver outside the group: leaving, being unreachable, and returning.
#include "transport/core/receiver/receiver_parts.h"

namespace stage::core {

/// Members in the group learn the source's progress by multicast, and a member that left learns
/// it by unicast.
void Receiver::Parts::on_pulse(Instant now, const Datagram& datagram) {
    const auto body = wire::read_pulse(datagram.body);
    if (!body || datagram.header.rank != config.source || is_over()) {
        return;
    }
    const bool may_fetch = intake.has_begun() && !config.holds_already;
    const bool may_leave = may_fetch && !parities.is_expected();
    if ((may_leave || !datagram.to_group) && leave.on_pulse(now, datagram, *body)) {
        follow_standing(now);
    }
    if (datagram.to_group || !may_fetch) {
        return;
    }
    puller.set_swarm(leave.is_unreachable() && leave.are_most_away());
    if (body->block.value() >= intake.map().blocks()) {
        on_end(now);
    } else if (!parities.is_expected()) {
        frontier.on_sent(now, {.block = body->block.value(), .chunk = body->chunk});
    }
}

/// Watches whether multicast reaches this member. (A member that left expects nothing.)
void Receiver::Parts::watch_group(Instant now) {
    if (leave.is_away()) {
        reach.on_group(now);
    }
    const GroupReach::Step step = reach.look(now);
    if (step == GroupReach::Step::ask) {
        leave.ask(now);
    }
    const bool is_back = reach.take_return();
    if (step == GroupReach::Step::unreachable || is_back) {
        outcome.was_unreachable = true;
        leave.set_unreachable(now, !is_back);
        follow_standing(now);
    }
}

/// Adjusts driver, repair requests and reports to the standing.
void Receiver::Parts::follow_standing(Instant now) {
    if (leave.is_away() != is_out_of_group) {
        is_out_of_group = leave.is_away();
        Operation operation;
        operation.kind =
            is_out_of_group ? OperationKind::leave_group : OperationKind::join_group;
        intake.operations().push_back(operation);
    }
    outcome.times_left = leave.times();
    puller.set_swarm(leave.is_unreachable() && leave.are_most_away());
    puller.set_alone(now, leave.is_fetching() ? leave.fetch_bytes_per_s() : 0);
    reporter.set_away(leave.is_fetching());
}

}  // namespace stage::core
