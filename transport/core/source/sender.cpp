#include "transport/core/source/sender.h"

#include "transport/base/invariant.h"
#include "transport/core/base/timeouts.h"
#include "transport/core/feedback/reporter.h"
#include "transport/core/sending/train.h"
#include "transport/core/source/sender_parts.h"

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
        config.chunk_bytes = std::exchange(config.chunk_bytes_fallback, std::uint16_t{0});
    }
    if (may_go_with_offers(config, shape, limits.parity)) {
        config.readiness_policy = ReadinessPolicy::none;
    }
    return config.readiness_policy == ReadinessPolicy::none ? config : given;
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

Sender::Parts::Parts(const CoreConfig& given, const ObjectShape& shape_, const Limits& limits_)
    : config{first_config(with_default_timeouts(given), shape_, limits_)},
      limits{limits_},
      shape{shape_},
      is_offered_whole{goes_with_offers(config, shape, limits.parity)},
      cut{config.chunk_bytes},
      control{limits.outbox_max},
      pacer{limits.pacer, rate_of(config, limits), config.chunk_bytes + kWireOverheadBytes},
      residence{config.resident_blocks},
      descriptors{shape.blocks, shape.blocks},
      pass{config, shape, limits, descriptors, residence},
      server{limits, config.chunk_bytes, *this, residence},
      readiness{config, shape, limits},
      board{config, limits.feedback},
      pace{config, limits},
      shared_loss{limits.feedback,
                  representatives_of(config, limits.feedback.representatives),
                  cut.chunks_max()},
      away{config, limits.leave, parities_for(config, shape, limits.parity) > 0},
      watch{config, limits.ending, shape.blocks},
      verdict{config.members},
      release{{.first = limits.ending.ending_first, .max = limits.ending.ending_max}},
      confirmed{config.members} {
    invariant(config.own == config.source && config.own.value() < config.members &&
                  shape.blocks >= 1 && shape.blocks <= kBlocksMax && config.members >= 2 &&
                  config.resident_blocks >= 2,
              "a source has an object, a group of two or more, and room for two blocks");
    outcome.chunk_bytes = config.chunk_bytes;
}

/// Everything that becomes due by itself.
void Sender::Parts::work(Instant now) {
    if (!is_started) {
        is_started = true;
        group_sent_at = now;
        alive_gap = limits.ending.alive_first;
        // A small object leaves with its first OFFER, so that no receiver wakes up for each.
        readiness.start(now, is_offered_whole ? limits.ending.offer_unread : Duration{});
    }
    if (!is_over()) {
        work_on_readiness(now);
        work_on_object(now);
        watch_own_disk(now);
        if (auto accused =
                watch.poll(now, readiness.ready(), verdict.done(), pass.cursor().block)) {
            fail(accused->rank, Blame::node, std::move(accused->why));
        }
        decide(now);
    }
    if (released && release.is_due(now)) {
        control.push_group(wire::PacketType::release, wire::write(*released));
    }
    if (stays_until && now >= *stays_until) {
        stays_until.reset();
        release.stop();
    }
}

void Sender::Parts::work_on_readiness(Instant now) {
    if (is_offered_whole && pass.has_loaded_all() && !readiness.goes_with_offers()) {
        readiness.add(now, descriptors);
    }
    if (readiness.poll(now, control) && is_offered_whole && pass.is_over()) {
        send_to_late(now);
    }
    if (outcome.phase == Phase::wiring && readiness.may_begin()) {
        // A small object may have been read, and finished here, before all were heard.
        outcome.phase = outcome.held_at ? Phase::holding : Phase::moving;
        watch.start(now);
    }
    if (readiness.is_complete() && !are_holders_spared) {
        are_holders_spared = true;
        skip_complete_members();
        update_listeners(now);
    }
    if (auto accused = readiness.accuse(now)) {
        verdict.on_failed(accused->rank, std::move(accused->why));
        blame = Blame::node;
    }
}

void Sender::Parts::work_on_object(Instant now) {
    server.expire(now, control);
    if (pass.has_loaded_all() && !is_finishing) {
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
    if (!pass.is_over()) {
        pace.poll(now, pacer, pass.is_waiting());
        outcome.rate_found_bytes_per_s = pace.capacity();
        if (!pace.is_seeking()) {
            away.start(now);
        }
        if (away.is_due(now)) {
            tell_pulse(now, std::nullopt, 0);
        }
    }
    if (end.is_due(now)) {
        const wire::End body{.blocks = shape.blocks, .last_packet = pass.last_packet()};
        control.push_group(wire::PacketType::end, wire::write(body));
        group_sent_at = now;
    }
    keep_alive(now);
}

/// A source that waits for its disk or the send window sends keep-alive packets, soon at first
/// and then more rarely. A DESCRIBE states the progress of the pass, so that a receiver that
/// lost the last packets need not wait for them.
void Sender::Parts::keep_alive(Instant now) {
    if (pass.is_over() || now < speaks_at()) {
        return;  // (END is repeated anyway)
    }
    group_sent_at = now;
    alive_gap = std::min(alive_gap * 2, alive_every(config));
    const std::uint32_t block = std::min(pass.cursor().block, shape.blocks - 1);
    auto body = descriptors.describe(BlockIndex{block}, 1);
    if (body.empty() && block > 0) {
        body = descriptors.describe(BlockIndex{block - 1}, 1);
    }
    if (body.empty()) {
        control.push_group(wire::PacketType::offer, readiness.offer(now));
    } else {
        control.push_group(wire::PacketType::describe, std::move(body));
    }
}

/// A source that only waits for tokens continues by itself. On a slow link bursts are further
/// apart than the first interval, and a DESCRIBE after each would take a share of the rate and
/// wake all receivers.
Instant Sender::Parts::speaks_at() const {
    const bool is_paced = readiness.may_begin() && may_send() && pass.is_waiting() &&
                          !board.deadline(pass.cursor().block);
    return group_sent_at + (is_paced ? alive_every(config) : alive_gap);
}

void Sender::Parts::watch_own_disk(Instant now) {
    if (disk_watch.is_stuck(now, disk_patience())) {
        fail(config.own,
             Blame::node,
             "reading what is staged hangs: its disk or server is stuck");
    }
}

void Sender::Parts::fail(Rank culprit, Blame blame_, std::string why) {
    blame = blame_;
    verdict.on_failed(culprit, std::move(why));
}

bool Sender::Parts::has(BlockIndex block, std::uint32_t chunk) const {
    if (chunk >= chunks(block)) {
        return false;
    }
    const bool is_in_pass = block.value() >= pass.cursor().block && pass.has_loaded(block);
    return residence.is_clean(block) || is_in_pass;
}

bool Sender::Parts::can_load(BlockIndex block) const {
    return block.value() < pass.cursor().block && !residence.contains(block) &&
           chunks(block) > 0;
}

std::uint32_t Sender::Parts::chunks(BlockIndex block) const {
    return descriptors.knows(block) ? cut.chunks(descriptors.at(block).wire_length) : 0;
}

std::vector<std::byte> Sender::Parts::describe(BlockIndex block, std::uint32_t count) const {
    return descriptors.describe(block, count);
}

/// Blocks are read before all are ready, but not while the chunk size may still change, or
/// while it is possible that no member needs them.
bool Sender::Parts::may_load() const {
    return readiness.is_complete() ||
           ((config.chunk_bytes_fallback == 0 || readiness.may_begin()) &&
            !config.holds_already);
}

/// The rate search may wait for reports first. Once the pass is over the search has no
/// influence, and repairs are few.
bool Sender::Parts::may_send() const {
    return pass.is_over() || pace.may_send();
}

void Sender::Parts::fill(Instant now, SendBatch& batch) {
    const std::size_t before = batch.packets;
    const std::size_t sends_before = batch.sends.size();
    pacer.charge(control.drain(batch, numbers));
    if (!is_over() && readiness.may_begin() && may_send() && pacer.is_due(now)) {
        // Beside the first pass, repairs get half of what may leave.
        const std::size_t packets_max = batch.packets_max;
        if (pass.is_waiting()) {
            const std::uint32_t packets = packets_allowed(
                batch, pacer.credit(now), config.chunk_bytes + kWireOverheadBytes);
            batch.packets_max = batch.packets + packets / 2;
        }
        server.fill(now, batch, pacer, numbers);
        batch.packets_max = packets_max;
        const Position cursor = pass.cursor();
        pass.fill(now, board.window_below(now, pass.cursor().block), batch, pacer, numbers);
        if (pass.cursor() != cursor) {
            group_sent_at = now;
            alive_gap = limits.ending.alive_first;
        }
        if (pass.is_over() && !end.is_running()) {
            // (The last parity had the same effect, and hardly any receiver misses a packet.)
            end.start(is_offered_whole ? now + limits.ending.end_first_coded : now,
                      end_plan(config, shape, limits, pacer.rate_bytes_per_s()));
        }
    }
    const auto sends = std::span{batch.sends}.subspan(sends_before);
    pace.on_sends(now, sends);
    away.on_sends(sends);
    outcome.packets_sent += batch.packets - before;
}

void Sender::Parts::take(Instant now, OperationBatch& batch) {
    if (!is_over() && may_load()) {
        pass.order_loads(operations, next_ticket);
        server.order_loads(operations, next_ticket);
    }
    while (!operations.empty() && !batch.full()) {
        disk_watch.on_ordered(now, operations.front());
        batch.operations.push_back(operations.pop_front());
    }
}

std::optional<Instant> Sender::Parts::next() const {
    if (!is_started) {
        return kLongAgo;
    }
    if (is_over()) {
        return earlier(release.deadline(), stays_until);
    }
    if (may_load() && (pass.wants_loads() || server.wants_loads())) {
        return kLongAgo;
    }
    auto first = earlier(readiness.deadline(), watch.deadline());
    first = earlier(first, server.deadline());
    first = earlier(first, disk_watch.deadline(disk_patience()));
    if (must_speak()) {
        first = earlier(first, pass.is_over() ? end.deadline() : speaks_at());
    }
    if (readiness.may_begin()) {
        const Instant burst_at = pacer.burst_at(kLongAgo);
        // (Where it may not send, reports open it, or time.)
        if (may_send() && server.is_waiting()) {
            first = earlier(first, burst_at);
        }
        if (may_send() && pass.is_waiting()) {
            const auto open_at = board.deadline(pass.cursor().block);
            first = earlier(first, std::max(burst_at, open_at.value_or(kLongAgo)));
        }
        if (!pass.is_over()) {
            first = earlier(first, earlier(pace.deadline(), away.deadline()));
        }
    }
    return first;
}

Sender::Sender(const CoreConfig& config, const ObjectShape& shape, Prng&, Limits limits)
    : parts_{std::make_unique<Parts>(config, shape, limits)} {
}
Sender::Sender(Sender&&) noexcept = default;
Sender::~Sender() = default;

void Sender::work(Instant now) {
    parts_->work(now);
    if (parts_->outcome.phase == Phase::wiring && parts_->readiness.should_be_careful()) {
        fall_back_to_small_packets(now);
        parts_->work(now);
    }
}

/// Only OFFERs were sent so far and nothing was read: every part that knows the packets' size
/// is made anew. Packet numbers continue.
void Sender::fall_back_to_small_packets(Instant now) {
    CoreConfig config = parts_->config;
    config.chunk_bytes = config.chunk_bytes_fallback;
    config.chunk_bytes_fallback = 0;
    auto careful = std::make_unique<Parts>(config, parts_->shape, parts_->limits);
    careful->numbers = parts_->numbers;
    careful->outcome.packets_sent = parts_->outcome.packets_sent;
    careful->is_started = true;
    careful->group_sent_at = now;
    careful->alive_gap = parts_->alive_gap;
    careful->readiness.start_again(now, parts_->readiness);
    parts_ = std::move(careful);
}

void Sender::on_datagrams(Instant now, std::span<const Datagram> datagrams) {
    for (const Datagram& datagram : datagrams) {
        parts_->on_datagram(now, datagram);
    }
    work(now);
}

void Sender::on_done(Instant now, std::span<const Completion> completions) {
    for (const Completion& done : completions) {
        parts_->on_completion(now, done);
    }
    work(now);
}

void Sender::on_time(Instant now) {
    work(now);
}

void Sender::on_abort(Instant now, const Error& why) {
    parts_->fail(parts_->config.own, why.blame(), why.sentence());
    work(now);
}

void Sender::on_all_listen(Instant now) {
    // (A member that holds the object answers once its files have their final names.)
    parts_->readiness.await_until(now + finish_patience(parts_->config, parts_->limits.ending));
    work(now);
}

void Sender::next_sends(Instant now, SendBatch& sends) {
    parts_->fill(now, sends);
}

void Sender::next_operations(Instant now, OperationBatch& operations) {
    parts_->take(now, operations);
}

std::optional<Instant> Sender::deadline() const {
    return parts_->next();
}

const Outcome& Sender::outcome() const {
    return parts_->outcome;
}

}  // namespace stage::core
