// What does a receiver do that leaves the group, or is back?
#include "transport/core/receiver_parts.h"

namespace stage::core {

/// Where everybody hears how far the source is, who left it hears it alone.
void Receiver::Parts::on_pulse(Instant now, const Datagram& datagram) {
    const auto body = wire::read_pulse(datagram.body);
    if (!body || datagram.header.rank != config.source || is_over() || !intake.has_begun() ||
        config.holds_already || parities.is_expected()) {
        return;
    }
    if (leave.on_pulse(now, datagram, *body)) {
        follow_standing(now);
    }
    if (datagram.to_group) {
        return;
    }
    if (body->block.value() < intake.map().blocks()) {
        frontier.on_sent(now, {.block = body->block.value(), .chunk = body->chunk});
    } else {
        on_end(now);
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
    puller.set_alone(now, leave.is_fetching() ? leave.fetch_bytes_per_s() : 0);
    reporter.set_away(leave.is_fetching());
}

}  // namespace stage::core
