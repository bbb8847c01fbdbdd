#include "transport/core/source/sender.h"

#include "transport/base/invariant.h"
#include "transport/core/base/repeater.h"
#include "transport/core/base/timeouts.h"
#include "transport/core/feedback/member_watch.h"
#include "transport/core/feedback/report_board.h"
#include "transport/core/feedback/representatives.h"
#include "transport/core/membership/group_probe.h"
#include "transport/core/membership/member_ending.h"
#include "transport/core/membership/readiness.h"
#include "transport/core/membership/unreachable_members.h"
#include "transport/core/rate/rate_control.h"
#include "transport/core/sending/disk_watch.h"
#include "transport/core/sending/train.h"
#include "transport/core/source/keep_alive.h"
#include "transport/core/source/reading_on_demand.h"
#include "transport/core/source/source_blocks.h"
#include "transport/core/source/source_ending.h"
#include "transport/core/source/source_repairs.h"

#include <algorithm>
#include <utility>

namespace stage::core {
namespace {

/// Without a fence the source does not wait to see which packets pass, and uses the smaller
/// ones. A small object never waits: it costs no more than its OFFERs.
CoreConfig first_config(const CoreConfig& given,
                        const ObjectShape& shape,
                        const Limits& limits) {
    CoreConfig config = given;
    if (config.chunk_bytes_fallback > 0) {
        config.chunk_bytes = std::exchange(config.chunk_bytes_fallback, 0U);
    }
    if (may_go_with_offers(config, shape, limits.parity)) {
        config.policies.readiness = ReadinessPolicy::none;
    }
    return config.policies.readiness == ReadinessPolicy::none ? config : given;
}

/// Parities replace nearly all lost packets, so hardly any receiver needs an early END. On a
/// fast path all members wait for a receiver that lost the last packet and an END.
Repeater::Plan end_plan(const CoreConfig& config,
                        const ObjectShape& shape,
                        const Limits& limits,
                        std::uint64_t rate) {
    const EndingLimits& ending = limits.ending;
    const bool is_coded = parities_for(config, shape, limits.parity) > 0;
    const std::uint64_t packet = config.chunk_bytes + kWireOverheadBytes;
    const Duration soon = time_of(ending.end_packets * packet, rate);
    return {.first = is_coded ? ending.end_first_coded : std::min(ending.end_first, soon),
            .max = std::min(ending.end_max, alive_every(config)),
            .even = is_coded ? 1U : ending.end_even};
}

std::uint64_t rate_of(const CoreConfig& config, const Limits& limits) {
    return config.rate_bytes_per_s > 0 ? config.rate_bytes_per_s
                                       : limits.rate.start_bytes_per_s;
}

}  // namespace

struct Sender::Transmission {
    Transmission(const CoreConfig& given,
                 const ObjectShape& shape,
                 Prng& prng,
                 const Limits& limits_);

    // Received packets and completed operations.
    void on_datagram(Instant now, const Datagram& datagram);
    void on_packet(Instant now, const Datagram& datagram);
    void on_ready(Instant now, const Datagram& datagram, const wire::Ready& ready);
    void on_request(Instant now, Rank from, const wire::Request& request);
    void on_report(Instant now, Rank from, const wire::Report& report);
    void on_done(Instant now, Rank from, const wire::Done& done);
    void on_left(Instant now, const Datagram& datagram, const wire::Left& left);
    void on_completion(Instant now, const Completion& done);
    void on_loaded(Instant now, const Completion& done);
    void on_finished(Instant now, const Completion& done);

    // What becomes due.
    void work(Instant now);
    void start(Instant now);
    void work_on_readiness(Instant now);
    void answer_probe(Instant now);
    /// Hardly any of the object was sent.
    [[nodiscard]] bool is_early() const {
        return outcome.phase == Phase::wiring || is_offered_whole;
    }
    void work_on_object(Instant now);
    void keep_alive(Instant now);
    void read_on_demand(Instant now);
    void watch_members(Instant now);
    void name_representatives(Instant now);
    void replace_representatives(Instant now);
    void watch_own_disk(Instant now);
    void fail(Instant now, Rank culprit, Blame blame, std::string why);
    void decide(Instant now);
    [[nodiscard]] std::optional<Instant> next() const;

    // What is sent and read.
    void fill(Instant now, SendBatch& batch);
    void fill_data(Instant now, SendBatch& batch);
    [[nodiscard]] bool has_data_to_send() const;
    void take(Instant now, OperationBatch& batch);
    void skip_complete_members();
    void withhold_if_unheard(Instant now);
    void tell_pulse(Instant now, Rank to, std::uint32_t echo);
    void send_to_late(Instant now);

    /// True once the OFFERs are over or data is sent: from then on members take silence for a
    /// failure.
    [[nodiscard]] bool must_speak() const {
        return readiness.may_begin() || readiness.is_complete();
    }
    [[nodiscard]] Instant speaks_at() const;
    [[nodiscard]] bool may_load() const;
    /// The rate search may wait for reports first. Once the pass is over the search has no
    /// influence, and repairs are few.
    [[nodiscard]] bool may_send() const { return !is_streaming() || pace.may_send(); }
    /// The first pass goes on, and is not withheld.
    [[nodiscard]] bool is_streaming() const {
        return !pass().is_over() && !pass().is_withheld();
    }
    [[nodiscard]] Duration disk_timeout() const {
        return is_finishing ? finish_timeout(config, limits.ending)
                            : config.stall_timeout * limits.ending.finish_factor;
    }
    [[nodiscard]] bool is_over() const {
        return outcome.phase == Phase::released || outcome.phase == Phase::failed ||
               outcome.phase == Phase::handed_over;
    }
    [[nodiscard]] FirstPass& pass() { return blocks.pass(); }
    [[nodiscard]] const FirstPass& pass() const { return blocks.pass(); }

    CoreConfig config;
    Limits limits;
    ObjectShape shape;
    bool is_offered_whole;  ///< The object is so small that it travels with its OFFERs.
    Outcome outcome;
    Numbering numbers;
    ControlQueue control;
    Pacer pacer;
    SourceBlocks blocks;
    ReadingOnDemand reading;
    SourceRepairs repairs;
    Readiness readiness;
    GroupProbe probe;
    Representatives representatives;
    ReportBoard board;
    RateControl pace;
    UnreachableMembers unreachable;
    MemberWatch watch;
    SourceEnding ending;
    Repeater end;  ///< Repeats END.
    KeepAlive alive;
    OperationQueue operations;
    std::uint64_t next_ticket = 1;
    DiskWatch disk_watch;
    bool is_started = false;
    bool is_idle = true;  ///< There was no data to send, when it was last asked for some.
    bool are_holders_spared = false;
    bool is_finishing = false;
};

Sender::Transmission::Transmission(const CoreConfig& given,
                                   const ObjectShape& shape_,
                                   Prng& prng,
                                   const Limits& limits_)
    : config{first_config(with_default_timeouts(given), shape_, limits_)},
      limits{limits_},
      shape{shape_},
      is_offered_whole{goes_with_offers(config, shape, limits.parity)},
      control{limits.outbox_max},
      pacer{limits.pacer, rate_of(config, limits), config.chunk_bytes + kWireOverheadBytes},
      blocks{config, shape, limits},
      reading{config.resident_blocks},
      repairs{config, limits, blocks.chunks_max(), blocks, blocks.pool()},
      readiness{config, shape, limits},
      probe{config, limits.ending},
      representatives{config, limits.feedback, prng},
      board{config, limits.feedback},
      pace{config, limits},
      unreachable{config},
      watch{config, limits, shape.blocks},
      ending{config, limits.ending},
      alive{limits.ending.alive_first, alive_every(config)} {
    invariant(config.own == config.source && config.own.value() < config.members &&
                  shape.blocks >= 1 && shape.blocks <= kBlocksMax && config.members >= 2 &&
                  config.resident_blocks >= 2,
              "a source has an object, a group of two or more, and room for two blocks");
    outcome.chunk_bytes = config.chunk_bytes;
    if (representatives.named()) {
        name_representatives(kLongAgo);
    }
}

// ---- received packets and completed operations

void Sender::Transmission::on_datagram(Instant now, const Datagram& datagram) {
    if (datagram.header.is_data()) {
        Operation drop;
        drop.ticket = datagram.lease;
        operations.push_back(drop);
    } else if (is_over()) {
        ending.on_late(datagram, control);
    } else {
        watch.on_heard(now, datagram.header.rank);
        on_packet(now, datagram);
    }
}

void Sender::Transmission::on_packet(Instant now, const Datagram& datagram) {
    using wire::PacketType;
    const Rank from = datagram.header.rank;
    switch (datagram.header.type) {
        case PacketType::ready:
            if (const auto body = wire::read_ready(datagram.body)) {
                on_ready(now, datagram, *body);
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
                on_done(now, from, *body);
            }
            return;
        case PacketType::leave:
            if (const auto body = wire::read_ending(datagram.body)) {
                fail(now, from, blame_of(body->outcome), body->why);
            }
            return;
        case PacketType::left:
            if (const auto body = wire::read_left(datagram.body)) {
                on_left(now, datagram, *body);
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
        case PacketType::extended:
            return;  // for receivers, or of a later release
    }
}

void Sender::Transmission::on_ready(Instant now,
                                    const Datagram& datagram,
                                    const wire::Ready& ready) {
    const Rank from = datagram.header.rank;
    const bool holds = (datagram.header.flags & wire::kFlagHolds) != 0;
    readiness.on_ready(now, datagram.arrived_at, from, ready, holds);
    if (ready.source_time_us == 0) {
        probe.on_call(datagram.arrived_at, from);
    } else if (!unreachable.has(from)) {
        probe.on_heard(from);
    }
    watch.on_moved(now, from);
    board.begin_with(from, std::min(ready.held, shape.blocks));
}

void Sender::Transmission::on_request(Instant now, Rank from, const wire::Request& request) {
    reading.on_request(now, request);
    if (unreachable.has(from)) {
        return repairs.on_alone(now, from, request, control);
    }
    // What was sent to all is still under way, or waits in a queue.
    const Duration window = std::clamp(2 * readiness.round_trip().mean(),
                                       limits.feedback.repeat_window_min,
                                       limits.feedback.repeat_window_max);
    // During the pass a member asks the source only after peers that lack the chunk.
    repairs.on_request(now,
                       {.from = from, .window = window, .is_lost_by_peers = is_streaming()},
                       request,
                       control);
}

void Sender::Transmission::on_report(Instant now, Rank from, const wire::Report& report) {
    watch.on_report(now, from, report.blocks_held, report.placed);
    if (report.heard > 0 && is_streaming()) {
        watch.on_moved(now, from);
    }
    representatives.on_report(now, from);
    if (!representatives.has(from)) {
        return;  // It is alive, but reports too rarely to be followed.
    }
    if (unreachable.has(from)) {
        return;  // It hears no multicast, or nothing that shows how the stream goes.
    }
    board.on_report(now, from, report);
    pace.on_report(now, from, report);
    std::vector<wire::ChunkRun> missing;
    std::ranges::copy_if(
        report.missing, std::back_inserter(missing), [this](const wire::ChunkRun& run) {
            return run.block.value() < shape.blocks && pass().has_loaded(run.block);
        });
    repairs.on_missing(now, missing);
}

void Sender::Transmission::on_done(Instant now, Rank from, const wire::Done& done) {
    ending.on_done(done.ranks);
    board.leave_out(done.ranks);
    withhold_if_unheard(now);
    if (is_offered_whole) {
        readiness.on_done(done.ranks);
    }
    control.push_peer(wire::PacketType::done_ack, from, wire::write(done));
}

/// The reports of a member that multicast does not reach no longer count for the stream, and it
/// gets OFFERs and the source's progress by unicast.
void Sender::Transmission::on_left(Instant now,
                                   const Datagram& datagram,
                                   const wire::Left& left) {
    const Rank from = datagram.header.rank;
    if (from == config.own || from.value() >= config.members) {
        return;
    }
    if (unreachable.on_left(from, left)) {
        board.set_away(now, from, unreachable.has(from));
        pace.set_away(from, unreachable.has(from));
        repairs.set_representatives(board.present());
        withhold_if_unheard(now);
    }
    if (!unreachable.has(from)) {
        probe.on_heard(from);
    } else if (config.unreached_policy == UnreachedPolicy::fail) {
        probe.on_call(datagram.arrived_at, from);
    } else {
        probe.on_unreachable(from);
    }
    // What is to fail because of it fetches nothing first.
    const bool will_fail =
        probe.looks() && is_early() && config.unreached_policy == UnreachedPolicy::fail;
    if (unreachable.has(from) && !will_fail && !readiness.ready().has(from)) {
        control.push_peer(wire::PacketType::offer, from, readiness.offer(now));
    }
    tell_pulse(now, from, left.id);
}

void Sender::Transmission::on_completion(Instant now, const Completion& done) {
    disk_watch.on_completed(now);
    if (is_over()) {
        return;
    }
    if (done.kind == OperationKind::load) {
        on_loaded(now, done);
    } else if (done.kind == OperationKind::finish) {
        on_finished(now, done);
    }
}

void Sender::Transmission::on_loaded(Instant now, const Completion& done) {
    if (done.verdict == Verdict::failed) {
        return ending.fail(config.own, done.why.blame(), done.why.sentence());
    }
    const bool is_first = !blocks.was_read(done.block);
    const auto bytes = blocks.on_loaded(done);
    if (!bytes) {
        return ending.fail(config.own, bytes.error().blame(), bytes.error().sentence());
    }
    outcome.bytes_held += *bytes;
    if (done.descriptor.encoding == wire::Encoding::hole) {
        reading.on_hole(now, done.block);
    }
    if (!is_first) {
        repairs.server().on_loaded(done.block, true, control);
    }
}

void Sender::Transmission::on_finished(Instant now, const Completion& done) {
    if (done.verdict != Verdict::good) {
        return ending.fail(config.own, done.why.blame(), done.why.sentence());
    }
    outcome.phase = outcome.phase == Phase::moving ? Phase::holding : outcome.phase;
    outcome.held_at = now;
    outcome.bytes_held = shape.object_bytes;
    ending.on_done(config.own);
}

// ---- what becomes due

/// Everything that becomes due by itself.
void Sender::Transmission::work(Instant now) {
    start(now);
    if (is_idle) {
        pacer.rest(now);
    }
    if (!is_over()) {
        work_on_readiness(now);
    }
    if (!is_over()) {
        work_on_object(now);
        watch_own_disk(now);
        watch_members(now);
        decide(now);
    }
    ending.poll(now, control);
}

void Sender::Transmission::start(Instant now) {
    if (std::exchange(is_started, true)) {
        return;
    }
    alive.on_spoken(now);
    // A small object leaves with its first OFFER, so that no receiver wakes up for each.
    readiness.start(now, is_offered_whole ? limits.ending.offer_unread : Duration{});
}

void Sender::Transmission::work_on_readiness(Instant now) {
    if (is_offered_whole && pass().has_loaded_all() && !readiness.goes_with_offers()) {
        readiness.add(now, blocks.descriptors());
    }
    if (readiness.poll(now, control)) {
        probe.on_offer(now);
        if (is_offered_whole && pass().is_over()) {
            send_to_late(now);
        }
    }
    answer_probe(now);
    if (is_over()) {
        return;
    }
    if (outcome.phase == Phase::wiring && readiness.may_begin()) {
        // A small object may have been read, and finished here, before all were heard.
        outcome.phase = outcome.held_at ? Phase::holding : Phase::moving;
        watch.start(now);
    }
    if (readiness.is_complete() && !are_holders_spared) {
        are_holders_spared = true;
        skip_complete_members();
        withhold_if_unheard(now);
    }
    while (auto accused = readiness.accuse(now)) {
        fail(now, accused->rank, Blame::node, std::move(accused->why));
        if (accused->rank == config.own || !ending.settled().has(accused->rank)) {
            break;  // That ends the broadcast.
        }
        readiness.leave_out(accused->rank);
    }
}

/// All members run, and some do not hear the group. An object of which much was sent is not
/// sent again.
void Sender::Transmission::answer_probe(Instant now) {
    if (!is_early() || !probe.is_complete(readiness.ready()) || ending.has_failed()) {
        return;
    }
    const std::vector<Rank> unreached = probe.unreached();
    ending.name_unreached(unreached);
    if (config.unreached_policy == UnreachedPolicy::fail) {
        outcome.unreached = unreached;
        for (const Rank rank : unreached) {
            probe.on_heard(rank);
            fail(now, rank, Blame::node, "multicast does not reach this node");
        }
        return;
    }
    if (!ending.dropped().empty()) {
        return;
    }
    outcome.phase = Phase::handed_over;
    outcome.relay_degree = config.next_relay_degree;
    outcome.unreached = unreached;
    ending.hand_over(now);
    repairs.server().clear();
    watch.stop();
    end.stop();
}

void Sender::Transmission::work_on_object(Instant now) {
    repairs.server().expire(now, control);
    if (pass().has_loaded_all() && !is_finishing) {
        is_finishing = true;
        Operation finish;
        finish.kind = OperationKind::finish;
        finish.ticket = Ticket{next_ticket++};
        operations.push_back(finish);
    }
    if (!readiness.may_begin()) {
        if (must_speak()) {
            keep_alive(now);
        }
        return;
    }
    read_on_demand(now);
    if (is_streaming()) {
        pace.poll(now, pacer, pass().is_waiting());
        outcome.rate_found_bytes_per_s = pace.capacity();
        replace_representatives(now);
    }
    if (end.is_due(now)) {
        control.push_group(wire::PacketType::end, wire::write(wire::End{shape.blocks}));
        alive.on_spoken(now);
    }
    keep_alive(now);
}

void Sender::Transmission::read_on_demand(Instant now) {
    if (ending.settled().count() + 1 >= config.members) {
        reading.stop();
    }
    reading.poll(now, pass().next_load());
    pass().read_below(reading.below());
}

/// Their reports, and no others, count from now on.
void Sender::Transmission::name_representatives(Instant now) {
    const std::vector<Rank> ranks = representatives.ranks();
    board.represent(now, ranks);
    pace.represent(ranks);
    repairs.set_representatives(board.present());
    readiness.name(representatives.named());
}

/// The receivers learn of a change at once, and from each DESCRIBE that follows.
void Sender::Transmission::replace_representatives(Instant now) {
    representatives.start(now);
    const auto can_represent = [this](Rank rank) {
        return readiness.ready().has(rank) && !ending.settled().has(rank) &&
               !unreachable.has(rank);
    };
    if (!representatives.poll(now, can_represent)) {
        return;
    }
    name_representatives(now);
    pass().name(*representatives.named());
    if (auto body = blocks.describe_progress(); !body.empty()) {
        wire::append(body, *representatives.named());
        control.push_group(wire::PacketType::describe, std::move(body));
    } else {
        control.push_group(wire::PacketType::offer, readiness.offer(now));
    }
}

/// A source that waits for its disk or the send window sends a DESCRIBE, which states the
/// progress of the pass: a receiver that lost the last packets need not wait for them.
void Sender::Transmission::keep_alive(Instant now) {
    if (pass().is_over() || now < speaks_at()) {
        return;  // (END is repeated anyway)
    }
    alive.on_kept_alive(now);
    auto body = blocks.describe_progress();
    if (body.empty()) {
        control.push_group(wire::PacketType::offer, readiness.offer(now));
    } else {
        control.push_group(wire::PacketType::describe, std::move(body));
    }
}

Instant Sender::Transmission::speaks_at() const {
    return alive.next(readiness.may_begin() && may_send() && pass().is_waiting() &&
                      !board.deadline(pass().cursor().block));
}

void Sender::Transmission::watch_members(Instant now) {
    for (Accusation& accused : watch.poll(
             now, readiness.ready(), ending.done(), ending.settled(), pass().cursor().block)) {
        fail(now, accused.rank, Blame::node, std::move(accused.why));
    }
}

/// Where failed receivers are dropped, no part waits for this one any more.
void Sender::Transmission::fail(Instant now, Rank culprit, Blame blame, std::string why) {
    ending.fail(culprit, blame, std::move(why));
    const std::vector<Rank> dropped = ending.take_dropped();
    for (const Rank rank : dropped) {
        readiness.leave_out(rank);
        board.leave_out(rank);
        pace.set_away(rank, true);
    }
    if (!dropped.empty()) {
        repairs.set_representatives(board.present());
        withhold_if_unheard(now);
    }
}

void Sender::Transmission::watch_own_disk(Instant now) {
    if (disk_watch.is_stuck(now, disk_timeout())) {
        ending.fail(config.own,
                    Blame::node,
                    "reading what is staged hangs: its disk or server is stuck");
    }
}

void Sender::Transmission::decide(Instant now) {
    const wire::Ending* const released = ending.decide(now, outcome.held_at.has_value());
    if (released == nullptr) {
        return;
    }
    outcome.dropped = ending.dropped();
    if (released->outcome == 0) {
        outcome.phase = Phase::released;
    } else {
        outcome.phase = Phase::failed;
        outcome.culprit = released->rank;
        outcome.why = Error{ending.blame(), released->why};
    }
    if (released->outcome != 0 || !outcome.dropped.empty()) {
        ending.release_unresponsive(readiness.ready(), control);
    }
    repairs.server().clear();
    watch.stop();
    end.stop();
}

std::optional<Instant> Sender::Transmission::next() const {
    if (!is_started) {
        return kLongAgo;
    }
    if (is_over()) {
        return ending.deadline();
    }
    const RepairServer& server = repairs.server();
    if (may_load() && (pass().wants_loads() || server.wants_loads())) {
        return kLongAgo;
    }
    auto first = earlier(readiness.deadline(), watch.deadline());
    first = earlier(first, server.deadline());
    first = earlier(first, disk_watch.deadline(disk_timeout()));
    first = earlier(first, end.deadline());
    if (must_speak() && !pass().is_over()) {
        first = earlier(first, speaks_at());
    }
    if (readiness.may_begin()) {
        const Instant burst_at = pacer.burst_at(kLongAgo);
        // (Where it may not send, reports open it, or time.)
        if (may_send() && server.is_waiting()) {
            first = earlier(first, burst_at);
        }
        if (may_send() && pass().is_waiting()) {
            const auto open_at = board.deadline(pass().cursor().block);
            first = earlier(first, std::max(burst_at, open_at.value_or(kLongAgo)));
        }
        if (is_streaming()) {
            first = earlier(first, earlier(pace.deadline(), representatives.deadline()));
        }
        if (!pass().has_loaded_all()) {
            first = earlier(first, reading.deadline());
        }
    }
    return first;
}

// ---- what is sent and read

void Sender::Transmission::fill(Instant now, SendBatch& batch) {
    const std::size_t before = batch.packets;
    const std::size_t sends_before = batch.sends.size();
    if (is_idle) {
        pacer.rest(now);
    }
    pacer.charge(control.drain(batch, numbers));
    if (!is_over() && readiness.may_begin() && may_send() && pacer.is_due(now)) {
        fill_data(now, batch);
    }
    const auto sends = std::span{batch.sends}.subspan(sends_before);
    pace.on_sends(now, sends);
    unreachable.on_sends(sends);
    outcome.packets_sent += batch.packets - before;
    is_idle = !has_data_to_send();
}

/// With more tokens it would send data: it does not wait for its disk, the window or reports.
bool Sender::Transmission::has_data_to_send() const {
    const bool may_go_on = pass().is_waiting() && !board.deadline(pass().cursor().block);
    return may_send() && (may_go_on || repairs.server().is_waiting());
}

void Sender::Transmission::fill_data(Instant now, SendBatch& batch) {
    // Beside the first pass, repairs get half of what may leave.
    const std::size_t packets_max = batch.packets_max;
    if (pass().is_waiting()) {
        const std::uint32_t packets =
            packets_allowed(batch, pacer.credit(now), config.chunk_bytes + kWireOverheadBytes);
        batch.packets_max = batch.packets + packets / 2;
    }
    repairs.server().fill(now, batch, pacer, numbers);
    batch.packets_max = packets_max;
    const Position cursor = pass().cursor();
    pass().fill(now, board.window_below(now, cursor.block), batch, pacer, numbers);
    if (pass().cursor() != cursor) {
        alive.on_data(now);
    }
    if (!is_streaming() && !end.is_running()) {
        // (The last parity had the same effect, and hardly any receiver misses a packet.)
        end.start(
            is_offered_whole ? now + limits.ending.end_first_coded : now,
            end_plan(config,
                     shape,
                     limits,
                     reading.is_on() ? rate_of(config, limits) : pacer.rate_bytes_per_s()));
    }
}

/// Blocks are read before all are ready, but not while the chunk size may still change, or
/// while it is possible that no member needs them.
bool Sender::Transmission::may_load() const {
    return readiness.is_complete() ||
           ((config.chunk_bytes_fallback == 0 || readiness.may_begin()) &&
            !config.holds_already);
}

void Sender::Transmission::take(Instant now, OperationBatch& batch) {
    if (!is_over() && may_load()) {
        pass().order_loads(operations, next_ticket);
        repairs.server().order_loads(operations, next_ticket);
    }
    while (!operations.empty() && !batch.full()) {
        disk_watch.on_ordered(now, operations.front());
        batch.operations.push_back(operations.pop_front());
    }
}

/// A member that holds the object is done, and the source does not wait for it. If all do,
/// nothing is sent. (No member holds a part of an object with parities, because one code covers
/// all its blocks.)
void Sender::Transmission::skip_complete_members() {
    const RankSet& holders = readiness.holders();
    for (std::uint32_t i = 0; holders.count() > 0 && i < config.members; ++i) {
        const Rank rank{static_cast<std::uint16_t>(i)};
        if (holders.has(rank)) {
            ending.on_done(rank);
            board.leave_out(rank);
        }
    }
    const std::uint32_t read_from = first_block_to_read(config, shape).value();
    const bool has_parities = parities_for(config, shape, limits.parity) > 0;
    if (holders.count() + ending.dropped().size() + 1 == config.members) {
        pass().withhold(read_from);
    } else if (readiness.held_by_all() > 0 && pass().cursor() == Position{} && !has_parities) {
        pass().skip(readiness.held_by_all(), read_from);
    }
}

/// If the group reaches no receiver that needs something, nothing more is sent to it: all
/// others fetch the object. That stays so if it reaches one of them again: END says that it may
/// request everything.
void Sender::Transmission::withhold_if_unheard(Instant now) {
    if (!is_streaming() || !readiness.is_complete() ||
        !unreachable.are_all(ending.settled(), config.source)) {
        return;
    }
    pass().withhold(0);
    reading.start(now, std::max(pass().next_load(), readiness.held_by_all()));
    // A member that asks knows the capacity of its own path.
    if (config.rate_bytes_per_s == 0) {
        pacer.set_rate(now,
                       config.rate_max_bytes_per_s > 0 ? config.rate_max_bytes_per_s
                                                       : limits.rate.most_bytes_per_s);
    }
}

/// How far the pass is, and when that was.
void Sender::Transmission::tell_pulse(Instant now, Rank to, std::uint32_t echo) {
    const Position whole{.block = shape.blocks, .chunk = 0};
    const Position cursor = is_streaming() ? pass().cursor() : whole;
    control.push_peer(
        wire::PacketType::pulse, to, wire::write(unreachable.pulse(now, cursor, echo)));
}

/// A member that was late for a small object receives it right after the OFFER, which takes no
/// longer than a READY and a repair would. So little data is not reported on, so no rate is
/// found: OFFERs are limited in number, and what follows them has tokens of its own.
void Sender::Transmission::send_to_late(Instant now) {
    const SourceBlocks::Whole whole = blocks.whole();
    pacer.grant((limits.parity.offers + 1 + whole.chunks) *
                (config.chunk_bytes + kWireOverheadBytes));
    repairs.repeat(now, whole.runs);
}

Sender::Sender(const CoreConfig& config, const ObjectShape& shape, Prng& prng, Limits limits)
    : prng_{prng}, transmission_{std::make_unique<Transmission>(config, shape, prng, limits)} {
}
Sender::Sender(Sender&&) noexcept = default;
Sender::~Sender() = default;

void Sender::work(Instant now) {
    transmission_->work(now);
    if (transmission_->outcome.phase == Phase::wiring &&
        transmission_->readiness.should_be_careful()) {
        fall_back_to_small_packets(now);
        transmission_->work(now);
    }
}

/// Only OFFERs were sent so far and nothing was read: every part that knows the packets' size
/// is made anew. Packet numbers continue.
void Sender::fall_back_to_small_packets(Instant now) {
    CoreConfig config = transmission_->config;
    config.chunk_bytes = config.chunk_bytes_fallback;
    config.chunk_bytes_fallback = 0;
    auto careful = std::make_unique<Transmission>(
        config, transmission_->shape, prng_, transmission_->limits);
    careful->numbers = transmission_->numbers;
    careful->outcome.packets_sent = transmission_->outcome.packets_sent;
    careful->is_started = true;
    careful->alive = transmission_->alive;
    careful->alive.on_spoken(now);
    careful->readiness.start_again(now, transmission_->readiness);
    careful->representatives = transmission_->representatives;
    if (careful->representatives.named()) {
        careful->name_representatives(now);
    }
    transmission_ = std::move(careful);
}

void Sender::on_datagrams(Instant now, std::span<const Datagram> datagrams) {
    for (const Datagram& datagram : datagrams) {
        transmission_->on_datagram(now, datagram);
    }
    work(now);
}

void Sender::on_done(Instant now, std::span<const Completion> completions) {
    for (const Completion& done : completions) {
        transmission_->on_completion(now, done);
    }
    work(now);
}

void Sender::on_time(Instant now) {
    work(now);
}

void Sender::on_abort(Instant now, const Error& why) {
    transmission_->ending.fail(transmission_->config.own, why.blame(), why.sentence());
    work(now);
}

void Sender::on_all_listen(Instant now) {
    // (A member that holds the object answers once its files have their final names.)
    transmission_->readiness.await_until(
        now + finish_timeout(transmission_->config, transmission_->limits.ending));
    work(now);
}

void Sender::next_sends(Instant now, SendBatch& sends) {
    transmission_->fill(now, sends);
}

void Sender::next_operations(Instant now, OperationBatch& operations) {
    transmission_->take(now, operations);
}

std::optional<Instant> Sender::deadline() const {
    return transmission_->next();
}

const Outcome& Sender::outcome() const {
    return transmission_->outcome;
}

}  // namespace stage::core
