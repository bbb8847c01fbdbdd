// What does a receiver do that leaves the group, does not hear it, or is back?
#include "transport/core/receiver/receiver_parts.h"

namespace stage::core {

/// Where everybody hears how far the source is, who left it hears it alone.
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
    puller.set_swarm(leave.is_cut_off() && leave.are_most_away());
    if (body->block.value() >= intake.map().blocks()) {
        on_end(now);
    } else if (!parities.is_expected()) {
        frontier.on_sent(now, {.block = body->block.value(), .chunk = body->chunk});
    }
}

/// Does the group reach this member? (Who left it is to hear nothing.)
void Receiver::Parts::watch_group(Instant now) {
    if (leave.is_away()) {
        reach.on_group(now);
    }
    const GroupReach::Step step = reach.look(now);
    if (step == GroupReach::Step::ask) {
        leave.ask(now);
    }
    const bool is_back = reach.take_return();
    if (step == GroupReach::Step::cut_off || is_back) {
        outcome.was_cut_off = true;
        leave.set_cut_off(now, !is_back);
        follow_standing(now);
    }
}

/// Makes the driver, the pulls and the reports what the standing says.
void Receiver::Parts::follow_standing(Instant now) {
    if (leave.is_away() != is_out_of_group) {
        is_out_of_group = leave.is_away();
        Operation operation;
        operation.kind =
            is_out_of_group ? OperationKind::leave_group : OperationKind::join_group;
        intake.operations().push_back(operation);
    }
    outcome.times_left = leave.times();
    puller.set_swarm(leave.is_cut_off() && leave.are_most_away());
    puller.set_alone(now, leave.is_fetching() ? leave.fetch_bytes_per_s() : 0);
    reporter.set_away(leave.is_fetching());
}

}  // namespace stage::core
