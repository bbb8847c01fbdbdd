#include "transport/core/membership/member_ending.h"
#include "transport/core/source/sender_parts.h"

#include <algorithm>
#include <utility>

namespace stage::core {

using wire::PacketType;

void Sender::Parts::on_datagram(Instant now, const Datagram& datagram) {
    const Rank from = datagram.header.rank;
    if (datagram.header.is_data()) {
        Operation drop;
        drop.ticket = datagram.lease;
        operations.push_back(drop);
        return;
    }
    if (is_over()) {
        on_late(datagram);
        return;
    }
    watch.on_heard(now, from);
    switch (datagram.header.type) {
        case PacketType::ready:
            if (const auto body = wire::read_ready(datagram.body)) {
                const bool holds = (datagram.header.flags & wire::kFlagHolds) != 0;
                readiness.on_ready(now, datagram.arrived_at, from, *body, holds);
                watch.on_moved(now, from);
                board.begin_with(from, std::min(body->held, shape.blocks));
            }
            return;
        case PacketType::request:
            if (const auto body = wire::read_request(datagram.body)) {
                on_request(now, from, *body);
            }
            return;
        case PacketType::report:
            if (const auto body = wire::read_report(datagram.body)) {
                on_report(now, from, *body);
            }
            return;
        case PacketType::done:
            if (const auto body = wire::read_done(datagram.body)) {
                on_done(from, *body);
            }
            return;
        case PacketType::leave:
            if (const auto body = wire::read_ending(datagram.body)) {
                fail(from, blame_of(body->outcome), body->why);
            }
            return;
        case PacketType::left:
            if (const auto body = wire::read_left(datagram.body)) {
                on_left(now, from, *body);
            }
            return;
        case PacketType::pulse:
        case PacketType::data:
        case PacketType::describe:
        case PacketType::offer:
        case PacketType::lacking:
        case PacketType::done_ack:
        case PacketType::release:
        case PacketType::end:
            return;  // for receivers
    }
}

/// The outcome is decided. A member that acknowledged RELEASE needs nothing more; others get
/// RELEASE again.
void Sender::Parts::on_late(const Datagram& datagram) {
    if (datagram.header.type != PacketType::done_ack) {
        control.push_peer(PacketType::release, datagram.header.rank, wire::write(*released));
        return;
    }
    confirmed.add(datagram.header.rank);
    if (confirmed.count() + 1 == config.members) {
        stays_until.reset();
        release.stop();
    }
}

void Sender::Parts::on_request(Instant now, Rank from, const wire::Request& request) {
    if (away.is_fetching(from)) {
        return server.on_request(now, from, request, control);
    }
    // What was sent to all is still under way, or waits in a queue.
    const Duration window = std::clamp(2 * readiness.round_trip().mean(),
                                       limits.feedback.repeat_window_min,
                                       limits.feedback.repeat_window_max);
    const bool is_lost_by_all =
        !pass.is_over() && config.members >= limits.feedback.shared_members_min;
    wire::Request alone{.id = request.id, .runs = {}};
    std::vector<wire::ChunkRun> shared;
    shared_loss.on_request(now,
                           {.from = from, .window = window, .is_lost_by_all = is_lost_by_all},
                           request,
                           alone,
                           shared);
    if (!alone.runs.empty()) {
        server.on_request(now, from, alone, control);
    }
    repeat(now, shared);
}

void Sender::Parts::on_done(Rank from, const wire::Done& done) {
    verdict.on_done(done.ranks);
    board.leave_out(done.ranks);
    if (is_offered_whole) {
        readiness.on_done(done.ranks);
    }
    control.push_peer(PacketType::done_ack, from, wire::write(done));
}

void Sender::Parts::on_report(Instant now, Rank from, const wire::Report& report) {
    watch.on_report(now, from, report.blocks_held, report.placed);
    if (report.heard > 0 && !pass.is_over()) {
        watch.on_moved(now, from);
    }
    if (!is_representative(config, limits.feedback.representatives, from)) {
        return;  // It is alive, but reports too rarely to be followed.
    }
    if (away.is_fetching(from)) {
        return;  // It hears no multicast, or nothing that shows how the stream goes.
    }
    board.on_report(now, from, report);
    pace.on_report(now, from, report);
    std::vector<wire::ChunkRun> shared;
    for (const wire::ChunkRun& run : report.missing) {
        if (run.block.value() < shape.blocks && pass.has_loaded(run.block)) {
            shared_loss.on_missing(run, shared);
        }
    }
    repeat(now, shared);
}

void Sender::Parts::repeat(Instant now, const std::vector<wire::ChunkRun>& runs) {
    for (const wire::ChunkRun& run : runs) {
        if (server.repeat(now, run)) {
            shared_loss.on_repeat(now, run);
        }
    }
}

/// A member that was late for a small object receives it right after the OFFER, which takes no
/// longer than a READY and a repair would. So little data is not reported on, so no rate is
/// found: OFFERs are limited in number, and what follows them has tokens of its own.
void Sender::Parts::send_to_late(Instant now) {
    std::vector<wire::ChunkRun> whole;
    std::uint64_t packets = limits.parity.offers_many;
    for (std::uint32_t block = 0; block < shape.blocks; ++block) {
        const auto count = static_cast<std::uint16_t>(chunks(BlockIndex{block}));
        if (count > 0) {
            whole.push_back({.block = BlockIndex{block}, .first = 0, .count = count});
            packets += count;
        }
    }
    pacer.grant(packets * (config.chunk_bytes + kWireOverheadBytes));
    repeat(now, whole);
}

void Sender::Parts::on_completion(Instant now, const Completion& done) {
    disk_watch.on_completed(now);
    if (is_over()) {
        return;
    }
    if (done.kind == OperationKind::load) {
        on_loaded(done);
    } else if (done.kind == OperationKind::finish) {
        if (done.verdict != Verdict::good) {
            return fail(config.own, done.why.blame(), done.why.sentence());
        }
        outcome.phase = outcome.phase == Phase::moving ? Phase::holding : outcome.phase;
        outcome.held_at = now;
        outcome.bytes_held = shape.object_bytes;
        verdict.on_done(config.own);
    }
}

void Sender::Parts::on_loaded(const Completion& done) {
    const bool is_first = !descriptors.knows(done.block);
    if (done.verdict == Verdict::failed) {
        return fail(config.own, done.why.blame(), done.why.sentence());
    }
    const bool is_same = is_first || descriptors.at(done.block) == done.descriptor;
    if (done.verdict == Verdict::bad_digest || !is_same || done.descriptor.length == 0) {
        return fail(config.own, Blame::user, "what is staged changed while it was read");
    }
    if (is_first) {
        descriptors.learn(done.block, done.descriptor);
        pass.on_loaded(done.block);
        outcome.bytes_held += done.descriptor.length;
    } else {
        residence.settle(done.block);
        server.on_loaded(done.block, true, control);
    }
}

}  // namespace stage::core
