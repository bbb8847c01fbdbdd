#include "transport/core/receiver/receiver_parts.h"

#include <algorithm>
#include <utility>

namespace stage::core {

using wire::PacketType;

void Receiver::Parts::on_datagram(Instant now, const Datagram& datagram) {
    const Rank from = datagram.header.rank;
    if (datagram.to_group ? from == config.source : datagram.header.is_data()) {
        leave.on_arrival(datagram);
    }
    if (from == config.source) {
        source_heard = now;
        // (An OFFER may come long before the stream, and a PULSE leaves beside it.)
        const bool is_stream = datagram.header.type != PacketType::offer &&
                               datagram.header.type != PacketType::pulse;
        if (datagram.to_group && is_stream) {
            on_stream(now, datagram);
        }
        if (!datagram.to_group) {
            reach.on_alone(now);
        } else if (reach.on_group(now)) {
            leave.stop_asking();
        }
    }
    switch (datagram.header.type) {
        case PacketType::data:
            return on_data(now, datagram);
        case PacketType::offer:
            return on_offer(now, datagram);
        case PacketType::describe:
            return on_describe(now, datagram);
        case PacketType::request:
            return on_request(now, datagram);
        case PacketType::lacking:
            return on_lacking(now, datagram);
        case PacketType::done:
            return on_child_done(now, datagram);
        case PacketType::done_ack:
            if (const auto body = wire::read_done(datagram.body)) {
                done.on_ack(now, from, *body);
            }
            return;
        case PacketType::release:
            return on_release(now, datagram);
        case PacketType::end:
            if (const auto body = wire::read_end(datagram.body);
                body && from == config.source && intake.has_begun() && !config.holds_already) {
                on_end(now);
            }
            return;
        case PacketType::pulse:
            return on_pulse(now, datagram);
        case PacketType::ready:
        case PacketType::report:
        case PacketType::leave:
        case PacketType::left:
            return;  // for the source
    }
}

void Receiver::Parts::on_stream(Instant now, const Datagram& datagram) {
    reporter.on_packet(now, datagram);
    if (!intake.has_begun()) {
        call.on_stream(now + limits.ending.call_least);
    }
}

void Receiver::Parts::on_data(Instant now, const Datagram& datagram) {
    const auto& header = datagram.header;
    if (outcome.phase != Phase::moving || config.holds_already) {
        intake.drop(datagram);
        return;
    }
    const bool is_first_pass = header.rank == config.source && datagram.to_group &&
                               (header.flags & wire::kFlagRepeat) == 0;
    if (is_first_pass) {
        on_first_pass(now, datagram);
    }
    if (!is_first_pass && parities.is_expected() && datagram.to_group) {
        on_end(now);  // It was late for the first pass, or most were.
    }
    if (is_first_pass && parities.is_parity(header)) {
        parities.on_parity(datagram, intake);
        return;
    }
    OpenBlock* open = intake.on_data(datagram);
    if (open == nullptr) {
        return;
    }
    first_pass_placed += is_first_pass ? 1 : 0;
    if (open->asked.has(header.chunk.value())) {
        puller.on_arrival(now, header.rank, *open, header.chunk.value());
    }
}

/// The very last chunk means the end, as END does; if parities follow, the last of these does.
/// They may replace missing chunks, so these are not requested before.
void Receiver::Parts::on_first_pass(Instant now, const Datagram& datagram) {
    const Position place{.block = datagram.header.block.value(),
                         .chunk = datagram.header.chunk.value()};
    if (parities.is_expected()) {
        first_pass_heard += parities.is_parity(datagram.header) ? 0U : 1U;
        if (parities.is_last(datagram.header)) {
            on_end(now);
        }
        return;
    }
    first_pass_heard += intake.was_held_before(datagram.header.block) ? 0U : 1U;
    frontier.on_chunk(now, place);
    puller.on_stream_packet(now);
    if (place.block + 1 == intake.map().blocks() &&
        intake.descriptors().knows(datagram.header.block) &&
        place.chunk + 1 == intake.chunks(datagram.header.block)) {
        on_end(now);
    }
}

void Receiver::Parts::on_end(Instant now) {
    if (!frontier.is_ended()) {
        frontier.on_end(now, intake.map().blocks());
        puller.on_end(now);
    }
    if (leave.on_end(now)) {
        follow_standing(now);
    }
}

/// True for an OFFER with smaller packets than this member's, but not smaller than agreed.
bool Receiver::Parts::is_careful_offer(const Datagram& datagram) const {
    if (config.chunk_bytes_fallback == 0 || datagram.header.type != PacketType::offer ||
        datagram.header.rank != config.source || !is_for_me(datagram) || is_over() ||
        !intake.is_untouched()) {
        return false;
    }
    const auto offer = wire::read_offer(datagram.body);
    return offer && offer->chunk_bytes == config.chunk_bytes_fallback;
}

void Receiver::Parts::on_offer(Instant now, const Datagram& datagram) {
    const auto offer = wire::read_offer(datagram.body);
    if (!offer || datagram.header.rank != config.source || !is_for_me(datagram) || is_over()) {
        return;
    }
    if (!intake.has_begun()) {
        if (offer->chunk_bytes != config.chunk_bytes || offer->blocks > kBlocksMax) {
            fail(now,
                 {Blame::node,
                  "the source sends chunks of " + std::to_string(offer->chunk_bytes) +
                      " bytes in " + std::to_string(offer->blocks) +
                      " blocks; this node takes " + std::to_string(config.chunk_bytes) +
                      " bytes (its MTU) and " + std::to_string(kBlocksMax) + " blocks"});
            return;
        }
        call.on_offer();
        reach.begin();
        intake.begin({.blocks = offer->blocks, .object_bytes = offer->object_bytes});
        parities.begin(offer->blocks, offer->parities);
        if (!parities.is_expected()) {  // (One code covers all blocks of a small object.)
            intake.hold_before(config.held_before, config.bytes_held_before);
            ready.hold(intake.map().first_unheld());
        }
        object_bytes = offer->object_bytes;
        if (outcome.phase == Phase::wiring) {
            outcome.phase = Phase::moving;
        }
        if (config.holds_already && !is_finishing) {
            order_finish();
        }
    }
    if (!offer->descriptors.empty() && !config.holds_already) {
        // (Earlier OFFERs may not have said so.)
        if (!std::exchange(comes_with_offers, true)) {
            reporter.be_rare();
        }
        intake.on_describe({.first = BlockIndex{0}, .descriptors = offer->descriptors});
    }
    if (offer->chunk_bytes == config.chunk_bytes) {
        ready.on_offer(now, *offer, comes_with_offers);
    }
}

void Receiver::Parts::on_describe(Instant now, const Datagram& datagram) {
    if (config.holds_already) {
        return;  // Not even a hole is stored.
    }
    if (const auto body = wire::read_describe(datagram.body); body && !is_over()) {
        intake.on_describe(*body);
        if (datagram.to_group && datagram.header.rank == config.source && intake.has_begun() &&
            !parities.is_expected() && body->first.value() < intake.map().blocks()) {
            frontier.on_sent(now, {.block = body->first.value(), .chunk = 0});
        }
        descriptor_pull.on_describe(datagram.header.rank);
        puller.look(now);
    }
}

void Receiver::Parts::on_request(Instant now, const Datagram& datagram) {
    const auto body = wire::read_request(datagram.body);
    if (!body) {
        return;
    }
    if (is_over()) {
        ending.answer(datagram.header.rank, control);
        return;
    }
    server.on_request(now, datagram.header.rank, *body, control);
}

void Receiver::Parts::on_lacking(Instant now, const Datagram& datagram) {
    const auto body = wire::read_request(datagram.body);
    if (body && outcome.phase == Phase::moving) {
        puller.on_lacking(now, datagram.header.rank, *body, intake.map());
        descriptor_pull.on_lacking(datagram.header.rank, body->id);
    }
}

void Receiver::Parts::on_child_done(Instant now, const Datagram& datagram) {
    const auto body = wire::read_done(datagram.body);
    if (!body) {
        return;
    }
    if (is_over()) {
        ending.answer(datagram.header.rank, control);
        return;
    }
    done.on_done(now, *body);
    control.push_peer(PacketType::done_ack, datagram.header.rank, wire::write(*body));
}

void Receiver::Parts::on_release(Instant now, const Datagram& datagram) {
    const auto body = wire::read_ending(datagram.body);
    if (!body || (body->outcome == 0 && !is_over() && outcome.phase != Phase::holding)) {
        return;  // not all can hold it while this member does not
    }
    ending.on_release(now, *body, control);
    if (is_over()) {
        return;
    }
    if (body->outcome == 0) {
        outcome.phase = Phase::released;
    } else {
        outcome.phase = Phase::failed;
        outcome.culprit = body->rank;
        outcome.why = Error{blame_of(body->outcome), body->why};  // The culprit's, not ours.
    }
    stop();
}

}  // namespace stage::core
