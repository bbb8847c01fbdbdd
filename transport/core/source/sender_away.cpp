// What does the source do for those who left the group, or whom it does not reach?
//
// It counts them no more among those whose reports say how the stream goes, and tells each that
// asks how far it is. Whom the group does not reach it offers the object alone; and where it
// reaches nobody it sends nothing to it.
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
    if (away.is_cut_off(from) && !readiness.ready().has(from)) {
        control.push_peer(wire::PacketType::offer, from, readiness.offer(now));
    }
    tell_pulse(now, from, left.id);
}

/// Where the group reaches nobody who needs something, all others fetch it: nothing is sent.
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
    if (config.rate_bytes_per_s == 0) {  // Each who asks knows what its path takes.
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
