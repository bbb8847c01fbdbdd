#include "transport/core/source/sender.h"

#include "transport/base/invariant.h"
#include "transport/core/base/made_anew.h"
#include "transport/core/base/timeouts.h"
#include "transport/core/membership/member_ending.h"
#include "transport/core/sending/train.h"

#include <algorithm>
#include <functional>
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

Sender::Sender(const CoreConfig& config, const ObjectShape& shape, Prng& prng, Limits limits)
    : prng_{prng},
      config_{first_config(with_default_timeouts(config), shape, limits)},
      limits_{limits},
      shape_{shape},
      is_offered_whole_{goes_with_offers(config_, shape_, limits_.parity)},
      control_{limits_.outbox_max},
      pacer_{
          limits_.pacer, rate_of(config_, limits_), config_.chunk_bytes + kWireOverheadBytes},
      blocks_{config_, shape_, limits_},
      reading_{config_.resident_blocks},
      repairs_{config_, limits_, blocks_.chunks_max(), blocks_, blocks_.pool()},
      readiness_{config_, shape_, limits_},
      probe_{config_, limits_.ending},
      representatives_{config_, limits_.feedback, prng},
      board_{config_, limits_.feedback},
      pace_{config_, limits_},
      unreachable_{config_},
      watch_{config_, limits_, shape_.blocks},
      ending_{config_, limits_.ending},
      alive_{limits_.ending.alive_first, alive_every(config_)} {
    invariant(config_.own == config_.source && config_.own.value() < config_.members &&
                  shape_.blocks >= 1 && shape_.blocks <= kBlocksMax && config_.members >= 2 &&
                  config_.resident_blocks >= 2,
              "a source has an object, a group of two or more, and room for two blocks");
    outcome_.chunk_bytes = config_.chunk_bytes;
    if (representatives_.named()) {
        name_representatives(kLongAgo);
    }
}

void Sender::on_datagrams(Instant now, std::span<const Datagram> datagrams) {
    for (const Datagram& datagram : datagrams) {
        on_datagram(now, datagram);
    }
    turn(now);
}

void Sender::on_done(Instant now, std::span<const Completion> completions) {
    for (const Completion& done : completions) {
        on_completion(now, done);
    }
    turn(now);
}

void Sender::on_abort(Instant now, const Error& why) {
    ending_.fail(config_.own, why.blame(), why.sentence());
    turn(now);
}

void Sender::on_all_listen(Instant now) {
    // (A member that holds the object answers once its files have their final names.)
    readiness_.await_until(now + finish_timeout(config_, limits_.ending));
    turn(now);
}

void Sender::turn(Instant now) {
    work(now);
    if (outcome_.phase == Phase::wiring && readiness_.should_be_careful()) {
        fall_back_to_small_packets(now);
        work(now);
    }
}

/// Only OFFERs were sent so far and nothing was read: all parts are made anew, for packets of
/// the smaller size. Packet numbers continue.
void Sender::fall_back_to_small_packets(Instant now) {
    CoreConfig config = config_;
    config.chunk_bytes = std::exchange(config.chunk_bytes_fallback, 0U);
    const Numbering numbers = numbers_;
    const std::uint64_t packets_sent = outcome_.packets_sent;
    const KeepAlive alive = alive_;
    const Readiness readiness = readiness_;
    const Representatives representatives = representatives_;
    make_anew(*this, std::move(config), ObjectShape{shape_}, std::ref(prng_), Limits{limits_});
    numbers_ = numbers;
    outcome_.packets_sent = packets_sent;
    is_started_ = true;
    alive_ = alive;
    alive_.on_spoken(now);
    readiness_.start_again(now, readiness);
    representatives_ = representatives;
    if (representatives_.named()) {
        name_representatives(now);
    }
}

// ---- received packets and completed operations

void Sender::on_datagram(Instant now, const Datagram& datagram) {
    if (datagram.header.is_data()) {
        operations_.push_drop(datagram.lease);
    } else if (is_over()) {
        ending_.on_late(datagram, control_);
    } else {
        watch_.on_heard(now, datagram.header.rank);
        on_packet(now, datagram);
    }
}

void Sender::on_packet(Instant now, const Datagram& datagram) {
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
                on_member_done(now, from, *body);
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

void Sender::on_ready(Instant now, const Datagram& datagram, const wire::Ready& ready) {
    const Rank from = datagram.header.rank;
    const bool holds = (datagram.header.flags & wire::kFlagHolds) != 0;
    readiness_.on_ready(now, datagram.arrived_at, from, ready, holds);
    if (ready.source_time_us == 0) {
        probe_.on_call(datagram.arrived_at, from);
    } else if (!unreachable_.has(from)) {
        probe_.on_heard(from);
    }
    watch_.on_moved(now, from);
    board_.begin_with(from, std::min(ready.held, shape_.blocks));
}

void Sender::on_request(Instant now, Rank from, const wire::Request& request) {
    reading_.on_request(now, request);
    if (unreachable_.has(from)) {
        return repairs_.on_alone(now, from, request, control_);
    }
    // What was sent to all is still under way, or waits in a queue.
    const Duration window = std::clamp(2 * readiness_.round_trip().mean(),
                                       limits_.feedback.repeat_window_min,
                                       limits_.feedback.repeat_window_max);
    // During the pass a member asks the source only after peers that lack the chunk.
    repairs_.on_request(now,
                        {.from = from, .window = window, .is_lost_by_peers = is_streaming()},
                        request,
                        control_);
}

void Sender::on_report(Instant now, Rank from, const wire::Report& report) {
    watch_.on_report(now, from, report.blocks_held, report.placed);
    if (report.heard > 0 && is_streaming()) {
        watch_.on_moved(now, from);
    }
    representatives_.on_report(now, from);
    if (!representatives_.has(from)) {
        return;  // It is alive, but reports too rarely to be followed.
    }
    if (unreachable_.has(from)) {
        return;  // It hears no multicast, or nothing that shows how the stream goes.
    }
    board_.on_report(now, from, report);
    pace_.on_report(now, from, report);
    std::vector<wire::ChunkRun> missing;
    std::ranges::copy_if(
        report.missing, std::back_inserter(missing), [this](const wire::ChunkRun& run) {
            return run.block.value() < shape_.blocks && pass().has_loaded(run.block);
        });
    repairs_.on_missing(now, missing);
}

void Sender::on_member_done(Instant now, Rank from, const wire::Done& done) {
    ending_.on_done(done.ranks);
    board_.leave_out(done.ranks);
    withhold_if_unheard(now);
    if (is_offered_whole_) {
        readiness_.on_done(done.ranks);
    }
    control_.push_peer(wire::PacketType::done_ack, from, wire::write(done));
}

/// The reports of a member that multicast does not reach no longer count for the stream, and it
/// gets OFFERs and the source's progress by unicast.
void Sender::on_left(Instant now, const Datagram& datagram, const wire::Left& left) {
    const Rank from = datagram.header.rank;
    if (from == config_.own || from.value() >= config_.members) {
        return;
    }
    if (unreachable_.on_left(from, left)) {
        board_.set_away(now, from, unreachable_.has(from));
        pace_.set_away(from, unreachable_.has(from));
        repairs_.set_representatives(board_.present());
        withhold_if_unheard(now);
    }
    if (!unreachable_.has(from)) {
        probe_.on_heard(from);
    } else if (config_.unreached_policy == UnreachedPolicy::fail) {
        probe_.on_call(datagram.arrived_at, from);
    } else {
        probe_.on_unreachable(from);
    }
    // What is to fail because of it fetches nothing first.
    const bool will_fail =
        probe_.looks() && is_early() && config_.unreached_policy == UnreachedPolicy::fail;
    if (unreachable_.has(from) && !will_fail && !readiness_.ready().has(from)) {
        control_.push_peer(wire::PacketType::offer, from, readiness_.offer(now));
    }
    tell_pulse(now, from, left.id);
}

void Sender::on_completion(Instant now, const Completion& done) {
    disk_watch_.on_completed(now);
    if (is_over()) {
        return;
    }
    if (done.kind == OperationKind::load) {
        on_loaded(now, done);
    } else if (done.kind == OperationKind::finish) {
        on_finished(now, done);
    }
}

void Sender::on_loaded(Instant now, const Completion& done) {
    if (done.verdict == Verdict::failed) {
        return ending_.fail(config_.own, done.why.blame(), done.why.sentence());
    }
    const bool is_first = !blocks_.was_read(done.block);
    const auto bytes = blocks_.on_loaded(done);
    if (!bytes) {
        return ending_.fail(config_.own, bytes.error().blame(), bytes.error().sentence());
    }
    outcome_.bytes_held += *bytes;
    if (done.descriptor.encoding == wire::Encoding::hole) {
        reading_.on_hole(now, done.block);
    }
    if (!is_first) {
        repairs_.server().on_loaded(done.block, true, control_);
    }
}

void Sender::on_finished(Instant now, const Completion& done) {
    if (done.verdict != Verdict::good) {
        return ending_.fail(config_.own, done.why.blame(), done.why.sentence());
    }
    outcome_.phase = outcome_.phase == Phase::moving ? Phase::holding : outcome_.phase;
    outcome_.held_at = now;
    outcome_.bytes_held = shape_.object_bytes;
    ending_.on_done(config_.own);
}

// ---- what becomes due

/// Everything that becomes due by itself.
void Sender::work(Instant now) {
    start(now);
    if (is_idle_) {
        pacer_.rest(now);
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
    ending_.poll(now, control_);
}

void Sender::start(Instant now) {
    if (std::exchange(is_started_, true)) {
        return;
    }
    alive_.on_spoken(now);
    // A small object leaves with its first OFFER, so that no receiver wakes up for each.
    readiness_.start(now, is_offered_whole_ ? limits_.ending.offer_unread : Duration{});
}

void Sender::work_on_readiness(Instant now) {
    if (is_offered_whole_ && pass().has_loaded_all() && !readiness_.goes_with_offers()) {
        readiness_.add(now, blocks_.descriptors());
    }
    if (readiness_.poll(now, control_)) {
        probe_.on_offer(now);
        if (is_offered_whole_ && pass().is_over()) {
            send_to_late(now);
        }
    }
    answer_probe(now);
    if (is_over()) {
        return;
    }
    if (outcome_.phase == Phase::wiring && readiness_.may_begin()) {
        // A small object may have been read, and finished here, before all were heard.
        outcome_.phase = outcome_.held_at ? Phase::holding : Phase::moving;
        watch_.start(now);
    }
    if (readiness_.is_complete() && !are_holders_spared_) {
        are_holders_spared_ = true;
        skip_complete_members();
        withhold_if_unheard(now);
    }
    while (auto accused = readiness_.accuse(now)) {
        fail(now, accused->rank, Blame::node, std::move(accused->why));
        if (accused->rank == config_.own || !ending_.settled().has(accused->rank)) {
            break;  // That ends the broadcast.
        }
        readiness_.leave_out(accused->rank);
    }
}

/// All members run, and some do not hear the group. An object of which much was sent is not
/// sent again.
void Sender::answer_probe(Instant now) {
    if (!is_early() || !probe_.is_complete(readiness_.ready()) || ending_.has_failed()) {
        return;
    }
    const std::vector<Rank> unreached = probe_.unreached();
    ending_.name_unreached(unreached);
    if (config_.unreached_policy == UnreachedPolicy::fail) {
        outcome_.unreached = unreached;
        for (const Rank rank : unreached) {
            probe_.on_heard(rank);
            fail(now, rank, Blame::node, "multicast does not reach this node");
        }
        return;
    }
    if (!ending_.dropped().empty()) {
        return;
    }
    outcome_.phase = Phase::handed_over;
    outcome_.relay = config_.next_relay;
    outcome_.unreached = unreached;
    ending_.hand_over(now);
    repairs_.server().clear();
    watch_.stop();
    end_.stop();
}

void Sender::work_on_object(Instant now) {
    repairs_.server().expire(now, control_);
    if (pass().has_loaded_all() && !is_finishing_) {
        is_finishing_ = true;
        operations_.push_finish(Ticket{next_ticket_++});
    }
    if (!readiness_.may_begin()) {
        if (must_speak()) {
            keep_alive(now);
        }
        return;
    }
    read_on_demand(now);
    if (is_streaming()) {
        pace_.poll(now, pacer_, pass().is_waiting());
        outcome_.rate_found_bytes_per_s = pace_.capacity();
        replace_representatives(now);
    }
    if (end_.is_due(now)) {
        control_.push_group(wire::PacketType::end, wire::write(wire::End{shape_.blocks}));
        alive_.on_spoken(now);
    }
    keep_alive(now);
}

void Sender::read_on_demand(Instant now) {
    if (ending_.settled().count() + 1 >= config_.members) {
        reading_.stop();
    }
    reading_.poll(now, pass().next_load());
    pass().read_below(reading_.below());
}

/// The representatives' reports, and no others, count from now on.
void Sender::name_representatives(Instant now) {
    const std::vector<Rank> ranks = representatives_.ranks();
    board_.represent(now, ranks);
    pace_.represent(ranks);
    repairs_.set_representatives(board_.present());
    readiness_.name(representatives_.named());
}

/// The receivers learn of a change at once, and from each DESCRIBE that follows.
void Sender::replace_representatives(Instant now) {
    representatives_.start(now);
    const auto can_represent = [this](Rank rank) {
        return readiness_.ready().has(rank) && !ending_.settled().has(rank) &&
               !unreachable_.has(rank);
    };
    if (!representatives_.poll(now, can_represent)) {
        return;
    }
    name_representatives(now);
    pass().name(*representatives_.named());
    if (auto body = blocks_.describe_progress(); !body.empty()) {
        wire::append(body, *representatives_.named());
        control_.push_group(wire::PacketType::describe, std::move(body));
    } else {
        control_.push_group(wire::PacketType::offer, readiness_.offer(now));
    }
}

/// A source that waits for its disk or the send window sends a DESCRIBE, which states the
/// progress of the pass: a receiver that lost the last packets need not wait for them.
void Sender::keep_alive(Instant now) {
    if (pass().is_over() || now < speaks_at()) {
        return;  // (END is repeated anyway)
    }
    alive_.on_kept_alive(now);
    auto body = blocks_.describe_progress();
    if (body.empty()) {
        control_.push_group(wire::PacketType::offer, readiness_.offer(now));
    } else {
        control_.push_group(wire::PacketType::describe, std::move(body));
    }
}

Instant Sender::speaks_at() const {
    return alive_.next(readiness_.may_begin() && may_send() && pass().is_waiting() &&
                       !board_.deadline(pass().cursor().block));
}

void Sender::watch_members(Instant now) {
    for (Accusation& accused : watch_.poll(now,
                                           readiness_.ready(),
                                           ending_.done(),
                                           ending_.settled(),
                                           pass().cursor().block)) {
        fail(now, accused.rank, Blame::node, std::move(accused.why));
    }
}

/// Where failed receivers are dropped, no part waits for this one any more.
void Sender::fail(Instant now, Rank culprit, Blame blame, std::string why) {
    ending_.fail(culprit, blame, std::move(why));
    const std::vector<Rank> dropped = ending_.take_dropped();
    for (const Rank rank : dropped) {
        readiness_.leave_out(rank);
        board_.leave_out(rank);
        pace_.set_away(rank, true);
    }
    if (!dropped.empty()) {
        repairs_.set_representatives(board_.present());
        withhold_if_unheard(now);
    }
}

void Sender::watch_own_disk(Instant now) {
    if (disk_watch_.is_stuck(now, disk_timeout())) {
        ending_.fail(config_.own,
                     Blame::node,
                     "reading what is staged hangs: its disk or server is stuck");
    }
}

void Sender::decide(Instant now) {
    const wire::Ending* const released = ending_.decide(now, outcome_.held_at.has_value());
    if (released == nullptr) {
        return;
    }
    outcome_.dropped = ending_.dropped();
    if (released->outcome == 0) {
        outcome_.phase = Phase::released;
    } else {
        outcome_.phase = Phase::failed;
        outcome_.culprit = released->rank;
        outcome_.why = Error{ending_.blame(), released->why};
    }
    if (released->outcome != 0 || !outcome_.dropped.empty()) {
        ending_.release_unresponsive(readiness_.ready(), control_);
    }
    repairs_.server().clear();
    watch_.stop();
    end_.stop();
}

std::optional<Instant> Sender::deadline() const {
    if (!is_started_) {
        return kLongAgo;
    }
    if (is_over()) {
        return ending_.deadline();
    }
    const RepairServer& server = repairs_.server();
    if (may_load() && (pass().wants_loads() || server.wants_loads())) {
        return kLongAgo;
    }
    auto first = earlier(readiness_.deadline(), watch_.deadline());
    first = earlier(first, server.deadline());
    first = earlier(first, disk_watch_.deadline(disk_timeout()));
    first = earlier(first, end_.deadline());
    if (must_speak() && !pass().is_over()) {
        first = earlier(first, speaks_at());
    }
    if (readiness_.may_begin()) {
        const Instant burst_at = pacer_.burst_at(kLongAgo);
        // (Where it may not send, reports open it, or time.)
        if (may_send() && server.is_waiting()) {
            first = earlier(first, burst_at);
        }
        if (may_send() && pass().is_waiting()) {
            const auto open_at = board_.deadline(pass().cursor().block);
            first = earlier(first, std::max(burst_at, open_at.value_or(kLongAgo)));
        }
        if (is_streaming()) {
            first = earlier(first, earlier(pace_.deadline(), representatives_.deadline()));
        }
        if (!pass().has_loaded_all()) {
            first = earlier(first, reading_.deadline());
        }
    }
    return first;
}

// ---- what is sent and read

void Sender::next_sends(Instant now, SendBatch& batch) {
    const std::size_t before = batch.packets;
    const std::size_t sends_before = batch.sends.size();
    if (is_idle_) {
        pacer_.rest(now);
    }
    pacer_.charge(control_.drain(batch, numbers_));
    if (!is_over() && readiness_.may_begin() && may_send() && pacer_.is_due(now)) {
        fill_data(now, batch);
    }
    const auto sends = std::span{batch.sends}.subspan(sends_before);
    pace_.on_sends(now, sends);
    unreachable_.on_sends(sends);
    outcome_.packets_sent += batch.packets - before;
    is_idle_ = !has_data_to_send();
}

/// With more tokens it would send data: it does not wait for its disk, the window or reports.
bool Sender::has_data_to_send() const {
    const bool may_go_on = pass().is_waiting() && !board_.deadline(pass().cursor().block);
    return may_send() && (may_go_on || repairs_.server().is_waiting());
}

void Sender::fill_data(Instant now, SendBatch& batch) {
    // Beside the first pass, repairs get half of what may leave.
    const std::size_t packets_max = batch.packets_max;
    if (pass().is_waiting()) {
        const std::uint32_t packets = packets_allowed(
            batch, pacer_.credit(now), config_.chunk_bytes + kWireOverheadBytes);
        batch.packets_max = batch.packets + packets / 2;
    }
    repairs_.server().fill(now, batch, pacer_, numbers_);
    batch.packets_max = packets_max;
    const Position cursor = pass().cursor();
    pass().fill(now, board_.window_below(now, cursor.block), batch, pacer_, numbers_);
    if (pass().cursor() != cursor) {
        alive_.on_data(now);
    }
    if (!is_streaming() && !end_.is_running()) {
        // (The last parity had the same effect, and hardly any receiver misses a packet.)
        end_.start(
            is_offered_whole_ ? now + limits_.ending.end_first_coded : now,
            end_plan(config_,
                     shape_,
                     limits_,
                     reading_.is_on() ? rate_of(config_, limits_) : pacer_.rate_bytes_per_s()));
    }
}

/// Blocks are read before all are ready, but not while the chunk size may still change, or
/// while it is possible that no member needs them.
bool Sender::may_load() const {
    return readiness_.is_complete() ||
           ((config_.chunk_bytes_fallback == 0 || readiness_.may_begin()) &&
            !config_.holds_already);
}

void Sender::next_operations(Instant now, OperationBatch& batch) {
    if (!is_over() && may_load()) {
        pass().order_loads(operations_, next_ticket_);
        repairs_.server().order_loads(operations_, next_ticket_);
    }
    disk_watch_.order(now, operations_, batch);
}

/// A member that holds the object is done, and the source does not wait for it. If all do,
/// nothing is sent. (No member holds a part of an object with parities, because one code covers
/// all its blocks.)
void Sender::skip_complete_members() {
    const RankSet& holders = readiness_.holders();
    for (std::uint32_t i = 0; holders.count() > 0 && i < config_.members; ++i) {
        const Rank rank{static_cast<std::uint16_t>(i)};
        if (holders.has(rank)) {
            ending_.on_done(rank);
            board_.leave_out(rank);
        }
    }
    const std::uint32_t read_from = first_block_to_read(config_, shape_).value();
    const bool has_parities = parities_for(config_, shape_, limits_.parity) > 0;
    if (holders.count() + ending_.dropped().size() + 1 == config_.members) {
        pass().withhold(read_from);
    } else if (readiness_.held_by_all() > 0 && pass().cursor() == Position{} && !has_parities) {
        pass().skip(readiness_.held_by_all(), read_from);
    }
}

/// If the group reaches no receiver that needs something, nothing more is sent to it: all
/// others fetch the object. That stays so if it reaches one of them again: END says that it may
/// request everything.
void Sender::withhold_if_unheard(Instant now) {
    if (!is_streaming() || !readiness_.is_complete() ||
        !unreachable_.are_all(ending_.settled(), config_.source)) {
        return;
    }
    pass().withhold(0);
    reading_.start(now, std::max(pass().next_load(), readiness_.held_by_all()));
    // A member that asks knows the capacity of its own path.
    if (config_.rate_bytes_per_s == 0) {
        pacer_.set_rate(now,
                        config_.rate_max_bytes_per_s > 0 ? config_.rate_max_bytes_per_s
                                                         : limits_.rate.most_bytes_per_s);
    }
}

/// How far the pass is, and when that was.
void Sender::tell_pulse(Instant now, Rank to, std::uint32_t echo) {
    const Position whole{.block = shape_.blocks, .chunk = 0};
    const Position cursor = is_streaming() ? pass().cursor() : whole;
    control_.push_peer(
        wire::PacketType::pulse, to, wire::write(unreachable_.pulse(now, cursor, echo)));
}

/// A member that was late for a small object receives it right after the OFFER, which takes no
/// longer than a READY and a repair would. So little data is not reported on, so no rate is
/// found: OFFERs are limited in number, and what follows them has tokens of its own.
void Sender::send_to_late(Instant now) {
    const SourceBlocks::Whole whole = blocks_.whole();
    pacer_.grant((limits_.parity.offers + 1 + whole.chunks) *
                 (config_.chunk_bytes + kWireOverheadBytes));
    repairs_.repeat(now, whole.runs);
}

}  // namespace stage::core
