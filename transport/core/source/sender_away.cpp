// The source and the members outside the multicast group.
//
// Their reports no longer count for the stream, and each that asks gets the source's progress
// by unicast. A member that is unreachable by multicast gets OFFERs by unicast. If the group
// reaches no receiver, the source sends nothing to it.
#include "transport/core/source/sender_parts.h"

namespace stage::core {

void Sender::Parts::on_left(Instant now, Rank from, const wire::Left& left) {
    if (from == config.own || from.value() >= config.members) {
        return;
    }
    if (away.on_left(from, left)) {
        const bool is_away = away.is_away(from);
        board.set_away(now, from, is_away);
        pace.set_away(from, is_away);
        shared_loss.set_representatives(board.present());
        update_listeners(now);
    }
    if (away.is_unreachable(from) && !readiness.ready().has(from)) {
        control.push_peer(wire::PacketType::offer, from, readiness.offer(now));
    }
    tell_pulse(now, from, left.id);
}

/// If the group reaches no receiver that needs something, all others fetch the object and
/// nothing is sent to it.
void Sender::Parts::update_listeners(Instant now) {
    if (pass.is_over() || !readiness.is_complete() || away.count() == 0) {
        return;
    }
    std::uint32_t fetching = 0;
    for (std::uint32_t i = 0; i < config.members; ++i) {
        const Rank rank{static_cast<std::uint16_t>(i)};
        if (rank == config.source || readiness.holders().has(rank)) {
            continue;
        }
        if (!away.is_away(rank)) {
            return;
        }
        ++fetching;
    }
    if (fetching == 0) {
        return;
    }
    pass.withhold(0);
    // A member that asks knows the capacity of its own path.
    if (config.rate_bytes_per_s == 0) {
        pacer.set_rate(now,
                       config.rate_max_bytes_per_s > 0 ? config.rate_max_bytes_per_s
                                                       : limits.rate.most_bytes_per_s);
    }
}

/// How far the pass is, and when that was.
void Sender::Parts::tell_pulse(Instant now, std::optional<Rank> to, std::uint32_t echo) {
    const Position whole{.block = shape.blocks, .chunk = 0};
    wire::Pulse body = away.pulse(
        now,
        {.cursor = pass.is_over() ? whole : pass.cursor(), .queue = pace.standing_queue(now)});
    body.echo = echo;
    if (to) {
        control.push_peer(wire::PacketType::pulse, *to, wire::write(body));
    } else {
        control.push_group(wire::PacketType::pulse, wire::write(body));
    }
}

}  // namespace stage::core
