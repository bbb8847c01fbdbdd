#include "transport/core/receiver/receiver.h"

#include "transport/base/invariant.h"
#include "transport/core/base/timeouts.h"
#include "transport/core/receiver/receiver_parts.h"

#include <algorithm>
#include <utility>

namespace stage::core {

namespace {

/// Without a configured rate the puller searches for it while chunks are missing.
std::uint64_t rate_of(const CoreConfig& config, const Limits& limits) {
    return config.rate_bytes_per_s > 0 ? config.rate_bytes_per_s
                                       : limits.rate.start_bytes_per_s;
}

}  // namespace

Receiver::Parts::Parts(const CoreConfig& given, Prng& prng, const Limits& limits_)
    : config{with_default_timeouts(given)},
      limits{limits_},
      control{limits.outbox_max},
      pacer{limits.pacer, rate_of(config, limits), config.chunk_bytes + kWireOverheadBytes},
      intake{config, limits},
      server{limits, config.chunk_bytes, intake, intake.residence()},
      puller{config, limits, prng},
      descriptor_pull{limits.repair},
      parities{config},
      call{config, limits.ending, prng},
      ready{config, limits.ending, prng},
      reporter{config, limits.feedback, prng},
      done{config, limits.ending},
      leave{config, limits, prng},
      reach{config, limits.ending},
      ending{config,
             limits.ending,
             CompletionTree{.members = config.members,
                            .source = config.source,
                            .degree = limits.ending.tree_degree}
                 .has_children(config.own)},
      stream_wait{limits.stream_wait, config.group_buffer_bytes} {
    invariant(config.own != config.source && config.own.value() < config.members &&
                  config.source.value() < config.members && config.resident_blocks >= 2,
              "a receiver is a member of its group and has room for two blocks");
    outcome.chunk_bytes = config.chunk_bytes;
}

void Receiver::Parts::on_completion(Instant now, const Completion& completed) {
    disk_watch.on_completed(now);
    if (is_over()) {
        return;
    }
    switch (completed.kind) {
        case OperationKind::verify:
        case OperationKind::store:
            if (auto placed = intake.on_done(completed); !placed) {
                fail(now, std::move(placed).error());
            }
            return;
        case OperationKind::load:
            return on_loaded(completed);
        case OperationKind::finish:
            if (completed.verdict != Verdict::good) {
                return fail(now, completed.why);
            }
            return on_held(now);
        case OperationKind::place:
        case OperationKind::drop:
        case OperationKind::release:
        case OperationKind::encode:
        case OperationKind::reconstruct:
        case OperationKind::leave_group:
        case OperationKind::join_group:
            return;
    }
}

void Receiver::Parts::on_held(Instant now) {
    outcome.phase = Phase::holding;
    outcome.held_at = now;
    if (leave.on_held(now)) {
        follow_standing(now);
    }
    done.on_held(now);
    if (config.holds_already) {
        outcome.bytes_held = object_bytes;  // And it goes on reporting how the stream arrives.
    } else {
        reporter.stop();
    }
    if (comes_with_offers) {
        ready.stop();
    }
}

void Receiver::Parts::on_loaded(const Completion& completed) {
    intake.on_loaded(completed);
    server.on_loaded(completed.block, completed.verdict == Verdict::good, control);
}

/// Everything that becomes due by itself. Each part knows whether it has something to do.
void Receiver::Parts::work(Instant now) {
    if (!is_started) {
        is_started = true;
        source_heard = now;
        reach.on_group(now);
        if (!intake.has_begun()) {
            call.start(now);
        }
    }
    if (!is_over()) {
        watch_source(now);
        watch_answers(now);
        watch_disk(now);
    }
    if (!is_over()) {
        call.poll(now, control);
        // A child may hold the object before this member hears its first OFFER.
        done.poll(now, control);
    }
    if (!is_over() && intake.has_begun()) {
        work_on_blocks(now);
        if (may_answer()) {
            ready.poll(now, control);
        }
        server.expire(now, control);
    }
    if (!is_over()) {
        watch_group(now);
        leave.poll(now, control);
    }
    ending.poll(now, control);
    stream_wait.look(
        now, outcome.phase == Phase::moving && intake.is_crowded(), stream_bytes_per_s());
    outcome.stream_may_wait_until = stream_wait.until();
}

void Receiver::Parts::work_on_blocks(Instant now) {
    if (config.holds_already) {
        reporter.poll(now, frontier, intake.map(), intake.placed(), control);
        return;
    }
    if (outcome.phase != Phase::moving) {
        return;
    }
    parities.poll(intake);
    const bool has_settled = frontier.advance(now, gap_age());
    const Position settled = frontier.settled();
    const bool is_ended = settled.block >= intake.map().blocks();
    // A look that can find nothing would wake a receiver twice as often as the stream does.
    const bool has_opened = intake.open_absent(settled, is_ended, puller.is_swarm());
    if (has_opened || (has_settled && intake.map().lacks(settled))) {
        puller.look(now, is_ended);
    }
    for (const BlockIndex block : intake.take_closed()) {
        puller.forget(block);
    }
    descriptor_pull.poll(now,
                         intake.descriptors(),
                         std::min(settled.block, intake.map().blocks()),
                         puller,
                         control);
    puller.on_stream(now, stream_bytes_per_s());
    puller.poll(now, settled, intake.map(), control);
    if (pacer.rate_bytes_per_s() != puller.rate_bytes_per_s()) {
        pacer.set_rate(now, puller.rate_bytes_per_s());
    }
    reporter.poll(now, frontier, intake.map(), intake.placed(), control);
    outcome.bytes_held = intake.bytes_held();
    if (intake.map().holds_all() && !is_finishing) {
        const std::uint64_t chunks = intake.chunks_held();
        outcome.packets_lost = chunks - std::min(first_pass_heard, chunks);
        outcome.packets_repaired = chunks - std::min(first_pass_placed, chunks);
        order_finish();
    }
}

void Receiver::Parts::order_finish() {
    is_finishing = true;
    Operation finish;
    finish.kind = OperationKind::finish;
    finish.ticket = Ticket{intake.next_ticket()++};
    intake.operations().push_back(finish);
}

/// The age from which a gap is a loss: a quarter of an RTT, within bounds. Before an RTT is
/// known, being too quick costs one duplicate packet, and being too slow costs a small file its
/// time. Packets do not overtake more than a few others, however short these are.
Duration Receiver::Parts::gap_age() const {
    const std::uint64_t packet = config.chunk_bytes + kWireOverheadBytes;
    const Duration least =
        std::min(limits.repair.gap_age_min, puller.time_of(limits.repair.gap_packets * packet));
    const RttEstimator& seen = puller.round_trip();
    const Duration quarter = seen.is_known() ? seen.mean() / 4 : Duration::zero();
    return std::clamp(quarter, least, limits.repair.gap_age_max);
}

/// Where nothing is missing it does not matter when the place settles: the next packet settles
/// it. (Otherwise every burst of a stream woke its receivers three times more.)
std::optional<Instant> Receiver::Parts::frontier_deadline() const {
    const bool may_lack =
        !intake.has_begun() || intake.map().lacks(frontier.settled(), frontier.highest());
    return may_lack ? frontier.deadline() : std::nullopt;
}

void Receiver::Parts::fail(Instant now, Error why) {
    if (is_over()) {
        return;
    }
    ending.on_failure(now, why);
    outcome.phase = Phase::failed;
    outcome.culprit = config.own;
    outcome.why = std::move(why);
    stop();
}

void Receiver::Parts::stop() {
    server.clear();
    call.stop();
    done.stop();
    reporter.stop();
    leave.stop();
}

void Receiver::Parts::take(Instant now, OperationBatch& batch) {
    auto& operations = intake.operations();
    while (!operations.empty() && !batch.full()) {
        disk_watch.on_ordered(now, operations.front());
        batch.operations.push_back(operations.pop_front());
    }
}

Receiver::Receiver(const CoreConfig& config, Prng& prng, Limits limits)
    : prng_{prng}, parts_{std::make_unique<Parts>(config, prng, limits)} {
}
Receiver::Receiver(Receiver&&) noexcept = default;
Receiver::~Receiver() = default;

/// Only OFFERs have arrived so far: every part that knows the packets' size is made anew.
/// Packet numbers continue.
void Receiver::fall_back_to_small_packets(Instant now) {
    CoreConfig config = parts_->config;
    config.chunk_bytes = config.chunk_bytes_fallback;
    config.chunk_bytes_fallback = 0;
    auto careful = std::make_unique<Parts>(config, prng_, parts_->limits);
    careful->numbers = parts_->numbers;
    careful->outcome.packets_sent = parts_->outcome.packets_sent;
    careful->intake.operations() = std::move(parts_->intake.operations());
    careful->is_started = true;
    careful->source_heard = now;
    careful->all_listen_at = parts_->all_listen_at;
    careful->reach = parts_->reach;
    careful->leave.go_on_as(now, parts_->leave);
    careful->follow_standing(now);
    if (parts_->is_finishing) {  // It holds all of it already, and once is enough.
        careful->is_finishing = true;
        careful->outcome.phase = parts_->outcome.phase;
        careful->object_bytes = parts_->object_bytes;
        if (parts_->outcome.phase == Phase::holding) {
            careful->on_held(now);
        }
    }
    parts_ = std::move(careful);
}

void Receiver::on_datagrams(Instant now, std::span<const Datagram> datagrams) {
    for (const Datagram& datagram : datagrams) {
        if (parts_->is_careful_offer(datagram)) {
            fall_back_to_small_packets(now);
        }
        parts_->on_datagram(now, datagram);
    }
    parts_->work(now);
}

void Receiver::on_done(Instant now, std::span<const Completion> completions) {
    for (const Completion& completed : completions) {
        parts_->on_completion(now, completed);
    }
    parts_->work(now);
}

void Receiver::on_time(Instant now) {
    parts_->work(now);
}

void Receiver::on_abort(Instant now, const Error& why) {
    parts_->fail(now, why);
    parts_->work(now);
}

void Receiver::on_all_listen(Instant now) {
    parts_->all_listen_at = now;
    parts_->work(now);
}

void Receiver::next_sends(Instant now, SendBatch& sends) {
    const std::size_t before = sends.packets;
    parts_->pacer.charge(parts_->control.drain(sends, parts_->numbers));
    parts_->server.fill(now, sends, parts_->pacer, parts_->numbers);
    parts_->outcome.packets_sent += sends.packets - before;
}

void Receiver::next_operations(Instant now, OperationBatch& operations) {
    if (!parts_->is_over()) {
        parts_->server.order_loads(parts_->intake.operations(), parts_->intake.next_ticket());
    }
    parts_->take(now, operations);
}

std::optional<Instant> Receiver::deadline() const {
    const Parts& parts = *parts_;
    if (parts.is_over()) {
        return parts.ending.deadline();
    }
    if (!parts.is_started || parts.server.wants_loads()) {
        return kLongAgo;
    }
    auto first = earlier(parts.ending.deadline(), parts.source_deadline());
    first = earlier(first, earlier(parts.call.deadline(), parts.done.deadline()));
    first = earlier(first, earlier(parts.leave.deadline(), parts.reach.deadline()));
    if (parts.may_answer()) {
        first = earlier(first, parts.ready.deadline());
    }
    first = earlier(first, parts.server.deadline());
    if (parts.server.is_waiting()) {
        first = earlier(first, parts.pacer.burst_at(kLongAgo));
    }
    if (const auto patience = parts.disk_patience()) {
        first = earlier(first, parts.disk_watch.deadline(*patience));
    }
    if (parts.config.holds_already) {
        return parts.intake.has_begun()
                   ? earlier(first, parts.reporter.deadline(parts.intake.map()))
                   : first;
    }
    if (parts.outcome.phase == Phase::moving) {
        first = earlier(first, earlier(parts.frontier_deadline(), parts.puller.deadline()));
        first = earlier(first, parts.descriptor_pull.deadline());
        first = earlier(first, parts.reporter.deadline(parts.intake.map()));
    }
    return first;
}

const Outcome& Receiver::outcome() const {
    return parts_->outcome;
}

}  // namespace stage::core
