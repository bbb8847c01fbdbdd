// What does the source do for those who left the group?
//
// It counts them no more among those whose reports say how the stream goes, and tells each that
// asks how far it is.
#include "transport/core/sender_parts.h"

namespace stage::core {

void Sender::Parts::on_left(Instant now, Rank from, const wire::Left& left) {
    if (!away.is_on()) {
        return;
    }
    if (away.on_left(from, left)) {
        const bool is_away = away.is_away(from);
        board.set_away(from, is_away);
        pace.set_away(from, is_away);
        shared_loss.set_representatives(board.present());
    }
    tell_pulse(now, from, left.id);
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
