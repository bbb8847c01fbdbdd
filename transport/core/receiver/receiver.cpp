#include "transport/core/receiver/receiver.h"

#include "transport/base/invariant.h"
#include "transport/core/base/repeater.h"
#include "transport/core/base/timeouts.h"
#include "transport/core/feedback/done_reporter.h"
#include "transport/core/feedback/reporter.h"
#include "transport/core/membership/member_ending.h"
#include "transport/core/membership/offer_solicitation.h"
#include "transport/core/membership/ready_responder.h"
#include "transport/core/membership/release.h"
#include "transport/core/receiver/group_standing.h"
#include "transport/core/receiver/reassembly.h"
#include "transport/core/receiver/receiver_repairs.h"
#include "transport/core/receiver/reconstruction.h"
#include "transport/core/receiver/source_watch.h"
#include "transport/core/receiver/stream_wait.h"
#include "transport/core/repair/repair_server.h"
#include "transport/core/sending/disk_watch.h"

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

struct Receiver::Reception {
    Reception(const CoreConfig& given, Prng& prng, const Limits& limits_);

    // Received packets.
    void on_datagram(Instant now, const Datagram& datagram);
    void on_source(Instant now, const Datagram& datagram);
    void on_data(Instant now, const Datagram& datagram);
    void on_first_pass(Instant now, const Datagram& datagram);
    void on_offer(Instant now, const Datagram& datagram);
    void on_first_offer(Instant now, const wire::Offer& offer);
    void on_end(Instant now);
    void on_pulse(Instant now, const Datagram& datagram);
    void on_describe(Instant now, const Datagram& datagram);
    void on_request(Instant now, const Datagram& datagram);
    void on_lacking(Instant now, const Datagram& datagram);
    void on_child_done(Instant now, const Datagram& datagram);
    void on_release(Instant now, const Datagram& datagram);
    [[nodiscard]] bool is_careful_offer(const Datagram& datagram) const;

    // Completed operations.
    void on_completion(Instant now, const Completion& done);
    void on_loaded(const Completion& done);
    void on_held(Instant now);

    // What becomes due.
    void work(Instant now);
    void watch(Instant now);
    void watch_disk(Instant now);
    void work_on_blocks(Instant now);
    void order_finish();
    void adjust_to_standing(Instant now);
    /// This member fails for a reason of its own.
    void fail(Instant now, Error why);
    void end_unheard();
    void stop();
    void take(Instant now, OperationBatch& batch);
    [[nodiscard]] std::optional<Instant> next() const;

    [[nodiscard]] bool is_over() const {
        return outcome.phase == Phase::released || outcome.phase == Phase::failed ||
               outcome.phase == Phase::handed_over;
    }
    /// READY waits until the member holds what its configuration says.
    [[nodiscard]] bool may_answer() const {
        return !config.holds_already || outcome.phase == Phase::holding;
    }
    /// With headers; 0: not known yet.
    [[nodiscard]] std::uint64_t stream_bytes_per_s() const {
        return bytes_of(reporter.arrivals().packets_per_s());
    }
    [[nodiscard]] StreamRate stream_rate() const {
        const std::uint32_t steady = reporter.arrivals().steady_packets_per_s();
        return {.bytes_per_s = steady > 0 ? bytes_of(steady) : stream_bytes_per_s(),
                .is_steady = steady > 0};
    }
    [[nodiscard]] std::uint64_t bytes_of(std::uint32_t packets) const {
        return std::uint64_t{packets} * (config.chunk_bytes + kWireOverheadBytes);
    }
    [[nodiscard]] std::optional<Duration> disk_timeout() const;

    CoreConfig config;
    Limits limits;
    Outcome outcome;
    Numbering numbers;
    ControlQueue control;
    Pacer pacer;  ///< Of what this member sends.
    Reassembly reassembly;
    RepairServer server;
    ReceiverRepairs repairs;
    Reconstruction parities;
    OfferSolicitation call;
    ReadyResponder ready;
    Reporter reporter;
    DoneReporter done;
    GroupStanding standing;
    MemberEnding ending;
    SourceWatch source;
    DiskWatch disk_watch;
    StreamWait stream_wait;

    bool is_started = false;
    bool is_finishing = false;
    /// The object is so small that it travels with its OFFERs.
    bool comes_with_offers = false;
    std::uint64_t object_bytes = 0;       ///< As offered.
    std::uint64_t first_pass_heard = 0;   ///< Chunks that arrived when they were first sent.
    std::uint64_t first_pass_placed = 0;  ///< Those of them that had room.
};

Receiver::Reception::Reception(const CoreConfig& given, Prng& prng, const Limits& limits_)
    : config{with_default_timeouts(given)},
      limits{limits_},
      control{limits.outbox_max},
      pacer{limits.pacer, rate_of(config, limits), config.chunk_bytes + kWireOverheadBytes},
      reassembly{config, limits},
      server{limits, config.chunk_bytes, reassembly, reassembly.pool()},
      repairs{config, limits, prng},
      parities{config},
      call{config, limits.ending, prng},
      ready{config, limits.ending, prng},
      reporter{config, limits.feedback, prng},
      done{config, limits.ending},
      standing{config, limits, prng},
      ending{config,
             limits.ending,
             CompletionTree{.members = config.members,
                            .source = config.source,
                            .degree = limits.ending.tree_degree}
                 .has_children(config.own)},
      source{config},
      stream_wait{limits.stream_wait, config.group_buffer_bytes} {
    invariant(config.own != config.source && config.own.value() < config.members &&
                  config.source.value() < config.members && config.resident_blocks >= 2,
              "a receiver is a member of its group and has room for two blocks");
    outcome.chunk_bytes = config.chunk_bytes;
}

// ---- received packets

void Receiver::Reception::on_datagram(Instant now, const Datagram& datagram) {
    using wire::PacketType;
    const Rank from = datagram.header.rank;
    standing.on_packet(now, datagram);
    if (from == config.source) {
        on_source(now, datagram);
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
                body && from == config.source && reassembly.has_begun() &&
                !config.holds_already) {
                on_end(now);
            }
            return;
        case PacketType::pulse:
            return on_pulse(now, datagram);
        case PacketType::ready:
        case PacketType::report:
        case PacketType::leave:
        case PacketType::left:
        case PacketType::extended:
            return;  // for the source, or of a later release
    }
}

void Receiver::Reception::on_source(Instant now, const Datagram& datagram) {
    source.on_heard(now);
    // (An OFFER may come long before the stream, and a PULSE leaves beside it.)
    const bool is_stream = datagram.header.type != wire::PacketType::offer &&
                           datagram.header.type != wire::PacketType::pulse;
    if (datagram.to_group && is_stream) {
        reporter.on_packet(now, datagram);
        if (!reassembly.has_begun()) {
            call.on_stream(now + limits.ending.call_least);
        }
    }
}

void Receiver::Reception::on_data(Instant now, const Datagram& datagram) {
    const auto& header = datagram.header;
    if (outcome.phase != Phase::moving || config.holds_already) {
        reassembly.drop(datagram);
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
        parities.on_parity(datagram, reassembly);
        return;
    }
    OpenBlock* open = reassembly.on_data(datagram);
    if (open == nullptr) {
        return;
    }
    first_pass_placed += is_first_pass ? 1 : 0;
    repairs.on_arrival(now, header.rank, *open, header.chunk.value());
}

/// The very last chunk means the end, as END does; if parities follow, the last of these does.
/// They may replace missing chunks, so these are not requested before.
void Receiver::Reception::on_first_pass(Instant now, const Datagram& datagram) {
    const Position place{.block = datagram.header.block.value(),
                         .chunk = datagram.header.chunk.value()};
    if (parities.is_expected()) {
        first_pass_heard += parities.is_parity(datagram.header) ? 0U : 1U;
        if (parities.is_last(datagram.header)) {
            on_end(now);
        }
        return;
    }
    first_pass_heard += reassembly.was_held_before(datagram.header.block) ? 0U : 1U;
    repairs.on_first_pass(now, place);
    if (place.block + 1 == reassembly.map().blocks() &&
        reassembly.descriptors().knows(datagram.header.block) &&
        place.chunk + 1 == reassembly.chunks(datagram.header.block)) {
        on_end(now);
    }
}

void Receiver::Reception::on_end(Instant now) {
    repairs.on_end(now, reassembly.map().blocks());
}

/// True for an OFFER with smaller packets than this member's, but not smaller than agreed.
bool Receiver::Reception::is_careful_offer(const Datagram& datagram) const {
    if (config.chunk_bytes_fallback == 0 || datagram.header.type != wire::PacketType::offer ||
        datagram.header.rank != config.source || !standing.is_for_me(datagram) || is_over() ||
        !reassembly.is_untouched()) {
        return false;
    }
    const auto offer = wire::read_offer(datagram.body);
    return offer && offer->chunk_bytes == config.chunk_bytes_fallback;
}

void Receiver::Reception::on_offer(Instant now, const Datagram& datagram) {
    const auto offer = wire::read_offer(datagram.body);
    if (!offer || datagram.header.rank != config.source || !standing.is_for_me(datagram) ||
        is_over()) {
        return;
    }
    if (!reassembly.has_begun()) {
        on_first_offer(now, *offer);
        if (is_over()) {
            return;
        }
    }
    if (offer->representatives) {
        reporter.on_named(now, *offer->representatives);
    }
    if (!offer->descriptors.empty() && !config.holds_already) {
        // (Earlier OFFERs may not have said so.)
        if (!std::exchange(comes_with_offers, true)) {
            reporter.be_rare();
        }
        reassembly.on_describe({.first = BlockIndex{0}, .descriptors = offer->descriptors});
    }
    if (offer->chunk_bytes == config.chunk_bytes) {
        ready.on_offer(now, *offer, comes_with_offers);
    }
}

void Receiver::Reception::on_first_offer(Instant now, const wire::Offer& offer) {
    if (offer.chunk_bytes != config.chunk_bytes || offer.blocks > kBlocksMax) {
        fail(now,
             {Blame::node,
              "the source sends chunks of " + std::to_string(offer.chunk_bytes) + " bytes in " +
                  std::to_string(offer.blocks) + " blocks; this node takes " +
                  std::to_string(config.chunk_bytes) + " bytes (its MTU) and " +
                  std::to_string(kBlocksMax) + " blocks"});
        return;
    }
    call.on_offer();
    standing.begin();
    reassembly.begin({.blocks = offer.blocks, .object_bytes = offer.object_bytes});
    parities.begin(offer.blocks, offer.parities);
    if (!parities.is_expected()) {  // (One code covers all blocks of a small object.)
        reassembly.hold_before(config.held_before, config.bytes_held_before);
        ready.hold(reassembly.map().first_unheld());
    }
    object_bytes = offer.object_bytes;
    if (outcome.phase == Phase::wiring) {
        outcome.phase = Phase::moving;
    }
    if (config.holds_already && !is_finishing) {
        order_finish();
    }
}

void Receiver::Reception::on_describe(Instant now, const Datagram& datagram) {
    if (const auto body = wire::read_describe(datagram.body); body && !is_over()) {
        if (body->representatives && datagram.header.rank == config.source) {
            reporter.on_named(now, *body->representatives);
        }
        if (config.holds_already) {
            return;  // Not even a hole is stored.
        }
        reassembly.on_describe(*body);
        if (datagram.to_group && datagram.header.rank == config.source &&
            reassembly.has_begun() && !parities.is_expected() &&
            body->first.value() < reassembly.map().blocks()) {
            repairs.on_sent(now, {.block = body->first.value(), .chunk = 0});
        }
        repairs.on_describe(now, datagram.header.rank, datagram.to_group);
    }
}

void Receiver::Reception::on_request(Instant now, const Datagram& datagram) {
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

void Receiver::Reception::on_lacking(Instant now, const Datagram& datagram) {
    const auto body = wire::read_request(datagram.body);
    if (body && outcome.phase == Phase::moving) {
        const bool is_busy = (datagram.header.flags & wire::kFlagBusy) != 0;
        repairs.on_lacking(now, datagram.header.rank, *body, is_busy, reassembly.map());
    }
}

void Receiver::Reception::on_child_done(Instant now, const Datagram& datagram) {
    const auto body = wire::read_done(datagram.body);
    if (!body) {
        return;
    }
    if (is_over()) {
        ending.answer(datagram.header.rank, control);
        return;
    }
    done.on_done(now, *body);
    control.push_peer(wire::PacketType::done_ack, datagram.header.rank, wire::write(*body));
}

void Receiver::Reception::on_release(Instant now, const Datagram& datagram) {
    const auto body = wire::read_ending(datagram.body);
    if (!body) {
        return;
    }
    const auto result = result_of(*body, config, is_over() || outcome.phase == Phase::holding);
    if (!result) {
        return;
    }
    ending.on_release(now, *body, control);
    if (outcome.phase == Phase::failed) {  // (The source asks by the relay what became of it.)
        outcome.relay_degree = result->relay_degree;
        outcome.unreached = result->unreached;
    }
    if (is_over()) {
        return;
    }
    outcome.phase = result->phase;
    outcome.culprit = result->culprit;
    outcome.why = result->why;
    outcome.dropped = result->dropped;
    outcome.relay_degree = result->relay_degree;
    outcome.unreached = result->unreached;
    outcome.was_unreachable =
        outcome.was_unreachable ||
        std::ranges::find(outcome.unreached, config.own) != outcome.unreached.end();
    stop();
}

/// A member that multicast does not reach learns the source's progress by unicast.
void Receiver::Reception::on_pulse(Instant now, const Datagram& datagram) {
    const auto body = wire::read_pulse(datagram.body);
    if (!body || datagram.header.rank != config.source || datagram.to_group || is_over()) {
        return;
    }
    standing.on_pulse(*body);
    if (!reassembly.has_begun() || config.holds_already) {
        return;
    }
    repairs.set_swarm(standing.is_swarm());
    if (body->block.value() >= reassembly.map().blocks()) {
        on_end(now);
    } else if (!parities.is_expected()) {
        repairs.on_sent(now, {.block = body->block.value(), .chunk = body->chunk});
    }
}

// ---- completed operations

void Receiver::Reception::on_completion(Instant now, const Completion& completed) {
    if (completed.kind == OperationKind::place) {
        return reassembly.end_sparing();
    }
    disk_watch.on_completed(now);
    if (is_over()) {
        return;
    }
    switch (completed.kind) {
        case OperationKind::verify:
        case OperationKind::store:
            if (auto placed = reassembly.on_done(completed); !placed) {
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
        case OperationKind::connect:
        case OperationKind::hang_up:
            return;
    }
}

void Receiver::Reception::on_held(Instant now) {
    outcome.phase = Phase::holding;
    outcome.held_at = now;
    standing.on_held();
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

void Receiver::Reception::on_loaded(const Completion& completed) {
    reassembly.on_loaded(completed);
    server.on_loaded(completed.block, completed.verdict == Verdict::good, control);
}

// ---- what becomes due

/// Everything that becomes due by itself. Each part knows whether it has something to do.
void Receiver::Reception::work(Instant now) {
    if (!std::exchange(is_started, true)) {
        source.on_heard(now);
        standing.start(now);
        if (!reassembly.has_begun()) {
            call.start(now);
        }
    }
    watch(now);
    if (!is_over()) {
        call.poll(now, control);
        // A child may hold the object before this member hears its first OFFER.
        done.poll(now, control);
    }
    if (!is_over() && reassembly.has_begun()) {
        work_on_blocks(now);
        if (may_answer()) {
            ready.poll(now, control);
        }
        server.expire(now, control);
    }
    if (!is_over()) {
        if (standing.watch(now)) {
            outcome.was_unreachable = true;
            adjust_to_standing(now);
        }
        standing.poll(now, control);
    }
    ending.poll(now, control);
    stream_wait.look(
        now, outcome.phase == Phase::moving && reassembly.is_crowded(), stream_bytes_per_s());
    outcome.stream_may_wait_until = stream_wait.until();
}

/// Fails if the source, the answers to it, or the own disk take too long.
void Receiver::Reception::watch(Instant now) {
    if (is_over()) {
        return;
    }
    if (auto why = source.poll(now, outcome.phase)) {
        return outcome.phase == Phase::holding ? end_unheard() : fail(now, *std::move(why));
    }
    if (auto unheard = find_unheard(ready, config)) {
        fail(now, std::move(unheard->why));
        outcome.culprit = unheard->is_sources_fault ? config.source : config.own;
        return;
    }
    watch_disk(now);
}

void Receiver::Reception::watch_disk(Instant now) {
    const auto timeout = disk_timeout();
    disk_watch.look(now, timeout.has_value());
    if (timeout && disk_watch.is_stuck(now, *timeout)) {
        fail(now, {Blame::node, "writing hangs: the disk of this node is stuck"});
    }
}

/// How long the disk may take for what it is doing now; nothing if it isn't waited for.
std::optional<Duration> Receiver::Reception::disk_timeout() const {
    if (outcome.phase != Phase::moving || !reassembly.has_begun()) {
        return std::nullopt;
    }
    if (is_finishing) {
        return finish_timeout(config, limits.ending);
    }
    // A store may wait for earlier blocks, because they say where it belongs: only the first
    // block that isn't held shows whether the disk is at fault.
    const bool is_at_disk = reassembly.is_first_at_disk();
    return is_at_disk ? std::optional{config.stall_timeout} : std::nullopt;
}

void Receiver::Reception::work_on_blocks(Instant now) {
    if (config.holds_already) {
        reporter.poll(
            now, repairs.highest_received(), reassembly.map(), reassembly.placed(), control);
        return;
    }
    if (outcome.phase != Phase::moving) {
        return;
    }
    parities.poll(reassembly);
    repairs.poll(now, reassembly, stream_rate(), control);
    if (pacer.rate_bytes_per_s() != repairs.rate_bytes_per_s()) {
        pacer.set_rate(now, repairs.rate_bytes_per_s());
    }
    reporter.poll(
        now, repairs.highest_received(), reassembly.map(), reassembly.placed(), control);
    outcome.bytes_held = reassembly.bytes_held();
    if (reassembly.map().holds_all() && !is_finishing) {
        const std::uint64_t chunks = reassembly.chunks_held();
        outcome.packets_lost = chunks - std::min(first_pass_heard, chunks);
        outcome.packets_repaired = chunks - std::min(first_pass_placed, chunks);
        order_finish();
    }
}

void Receiver::Reception::order_finish() {
    is_finishing = true;
    Operation finish;
    finish.kind = OperationKind::finish;
    finish.ticket = Ticket{reassembly.next_ticket()++};
    reassembly.operations().push_back(finish);
}

/// Adjusts repair requests and reports to the standing.
void Receiver::Reception::adjust_to_standing(Instant now) {
    repairs.set_outside(now, standing.fetch_bytes_per_s(), standing.is_swarm());
    reporter.set_away(standing.is_unreachable());
}

void Receiver::Reception::fail(Instant now, Error why) {
    if (is_over()) {
        return;
    }
    ending.on_failure(now, why);
    outcome.phase = Phase::failed;
    outcome.culprit = config.own;
    outcome.why = std::move(why);
    stop();
}

/// This member holds the object; what became of the others is not its to say.
void Receiver::Reception::end_unheard() {
    outcome.phase = Phase::released;
    outcome.is_end_unheard = true;
    stop();
}

void Receiver::Reception::stop() {
    server.clear();
    call.stop();
    done.stop();
    reporter.stop();
    standing.stop();
}

void Receiver::Reception::take(Instant now, OperationBatch& batch) {
    auto& operations = reassembly.operations();
    if (!is_over()) {
        server.order_loads(operations, reassembly.next_ticket());
    }
    while (!operations.empty() && !batch.full()) {
        disk_watch.on_ordered(now, operations.front());
        batch.operations.push_back(operations.pop_front());
    }
}

std::optional<Instant> Receiver::Reception::next() const {
    if (is_over()) {
        return ending.deadline();
    }
    if (!is_started || server.wants_loads()) {
        return kLongAgo;
    }
    auto first = earlier(ending.deadline(), source.deadline(outcome.phase));
    first = earlier(first, earlier(call.deadline(), done.deadline()));
    first = earlier(first, earlier(standing.deadline(), server.deadline()));
    if (may_answer()) {
        first = earlier(first, ready.deadline());
    }
    if (server.is_waiting()) {
        first = earlier(first, pacer.burst_at(kLongAgo));
    }
    if (const auto timeout = disk_timeout()) {
        first = earlier(first, disk_watch.deadline(*timeout));
    }
    if (config.holds_already) {
        return reassembly.has_begun() ? earlier(first, reporter.deadline(reassembly.map()))
                                      : first;
    }
    if (outcome.phase == Phase::moving) {
        first = earlier(first, repairs.deadline(reassembly));
        first = earlier(first, reporter.deadline(reassembly.map()));
    }
    return first;
}

Receiver::Receiver(const CoreConfig& config, Prng& prng, Limits limits)
    : prng_{prng}, reception_{std::make_unique<Reception>(config, prng, limits)} {
}
Receiver::Receiver(Receiver&&) noexcept = default;
Receiver::~Receiver() = default;

/// Only OFFERs have arrived so far: every part that knows the packets' size is made anew.
/// Packet numbers continue.
void Receiver::fall_back_to_small_packets(Instant now) {
    CoreConfig config = reception_->config;
    config.chunk_bytes = config.chunk_bytes_fallback;
    config.chunk_bytes_fallback = 0;
    auto careful = std::make_unique<Reception>(config, prng_, reception_->limits);
    careful->numbers = reception_->numbers;
    careful->outcome.packets_sent = reception_->outcome.packets_sent;
    careful->reassembly.operations() = std::move(reception_->reassembly.operations());
    careful->is_started = true;
    careful->source = reception_->source;
    careful->source.on_heard(now);
    careful->standing.go_on_as(now, reception_->standing);
    careful->adjust_to_standing(now);
    if (reception_->is_finishing) {  // It holds all of it already, and once is enough.
        careful->is_finishing = true;
        careful->outcome.phase = reception_->outcome.phase;
        careful->object_bytes = reception_->object_bytes;
        if (reception_->outcome.phase == Phase::holding) {
            careful->on_held(now);
        }
    }
    reception_ = std::move(careful);
}

void Receiver::on_datagrams(Instant now, std::span<const Datagram> datagrams) {
    for (const Datagram& datagram : datagrams) {
        if (reception_->is_careful_offer(datagram)) {
            fall_back_to_small_packets(now);
        }
        reception_->on_datagram(now, datagram);
    }
    reception_->work(now);
}

void Receiver::on_done(Instant now, std::span<const Completion> completions) {
    for (const Completion& completed : completions) {
        reception_->on_completion(now, completed);
    }
    reception_->work(now);
}

void Receiver::on_time(Instant now) {
    reception_->work(now);
}

void Receiver::on_abort(Instant now, const Error& why) {
    reception_->fail(now, why);
    reception_->work(now);
}

void Receiver::on_all_listen(Instant now) {
    reception_->source.on_all_listen(now);
    reception_->work(now);
}

void Receiver::next_sends(Instant now, SendBatch& sends) {
    const std::size_t before = sends.packets;
    reception_->pacer.charge(reception_->control.drain(sends, reception_->numbers));
    reception_->server.fill(now, sends, reception_->pacer, reception_->numbers);
    reception_->outcome.packets_sent += sends.packets - before;
}

void Receiver::next_operations(Instant now, OperationBatch& operations) {
    reception_->take(now, operations);
}

std::optional<Instant> Receiver::deadline() const {
    return reception_->next();
}

const Outcome& Receiver::outcome() const {
    return reception_->outcome;
}

}  // namespace stage::core
