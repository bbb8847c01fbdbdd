#include "transport/core/receiver/receiver.h"

#include "transport/base/invariant.h"
#include "transport/core/base/made_anew.h"
#include "transport/core/base/timeouts.h"
#include "transport/core/membership/release.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace stage::core {

namespace {

/// Without a configured rate the puller searches for it while chunks are missing.
std::uint64_t rate_of(const CoreConfig& config, const Limits& limits) {
    return config.rate_bytes_per_s > 0 ? config.rate_bytes_per_s
                                       : limits.rate.start_bytes_per_s;
}

}  // namespace

Receiver::Receiver(const CoreConfig& config, Prng& prng, Limits limits)
    : prng_{prng},
      config_{with_default_timeouts(config)},
      limits_{limits},
      control_{limits_.outbox_max},
      pacer_{
          limits_.pacer, rate_of(config_, limits_), config_.chunk_bytes + kWireOverheadBytes},
      reassembly_{config_, limits_},
      server_{limits_, config_.chunk_bytes, reassembly_, reassembly_.pool()},
      repairs_{config_, limits_, prng},
      parities_{config_},
      call_{config_, limits_.ending, prng},
      ready_{config_, limits_.ending, prng},
      reporter_{config_, limits_.feedback, prng},
      done_{config_, limits_.ending},
      standing_{config_, limits_, prng},
      ending_{config_,
              limits_.ending,
              CompletionTree{.members = config_.members,
                             .source = config_.source,
                             .degree = limits_.ending.tree_degree}
                  .has_children(config_.own)},
      source_{config_},
      stream_wait_{limits_.stream_wait, config_.group_buffer_bytes} {
    invariant(config_.own != config_.source && config_.own.value() < config_.members &&
                  config_.source.value() < config_.members && config_.resident_blocks >= 2,
              "a receiver is a member of its group and has room for two blocks");
    outcome_.chunk_bytes = config_.chunk_bytes;
}

void Receiver::on_datagrams(Instant now, std::span<const Datagram> datagrams) {
    for (const Datagram& datagram : datagrams) {
        if (is_careful_offer(datagram)) {
            fall_back_to_small_packets(now);
        }
        on_datagram(now, datagram);
    }
    work(now);
}

void Receiver::on_done(Instant now, std::span<const Completion> completions) {
    for (const Completion& completed : completions) {
        on_completion(now, completed);
    }
    work(now);
}

void Receiver::on_abort(Instant now, const Error& why) {
    fail(now, why);
    work(now);
}

void Receiver::on_all_listen(Instant now) {
    source_.on_all_listen(now);
    work(now);
}

/// Only OFFERs have arrived so far: all parts are made anew, for packets of the smaller size.
/// Packet numbers continue.
void Receiver::fall_back_to_small_packets(Instant now) {
    CoreConfig config = config_;
    config.chunk_bytes = std::exchange(config.chunk_bytes_fallback, 0U);
    const Numbering numbers = numbers_;
    const Outcome outcome = outcome_;
    OperationQueue operations = std::move(reassembly_.operations());
    const SourceWatch source = source_;
    const GroupStanding standing = standing_;
    const bool is_finishing = is_finishing_;
    const std::uint64_t object_bytes = object_bytes_;
    make_anew(*this, std::move(config), std::ref(prng_), Limits{limits_});
    numbers_ = numbers;
    outcome_.packets_sent = outcome.packets_sent;
    reassembly_.operations() = std::move(operations);
    is_started_ = true;
    source_ = source;
    source_.on_heard(now);
    standing_.go_on_as(now, standing);
    adjust_to_standing(now);
    if (is_finishing) {  // It holds all of it already, and once is enough.
        is_finishing_ = true;
        outcome_.phase = outcome.phase;
        object_bytes_ = object_bytes;
        if (outcome.phase == Phase::holding) {
            on_held(now);
        }
    }
}

// ---- received packets

void Receiver::on_datagram(Instant now, const Datagram& datagram) {
    using wire::PacketType;
    const Rank from = datagram.header.rank;
    standing_.on_packet(now, datagram);
    if (from == config_.source) {
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
                done_.on_ack(now, from, *body);
            }
            return;
        case PacketType::release:
            return on_release(now, datagram);
        case PacketType::end:
            if (const auto body = wire::read_end(datagram.body);
                body && from == config_.source && reassembly_.has_begun() &&
                !config_.holds_already) {
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

void Receiver::on_source(Instant now, const Datagram& datagram) {
    source_.on_heard(now);
    // (An OFFER may come long before the stream, and a PULSE leaves beside it.)
    const bool is_stream = datagram.header.type != wire::PacketType::offer &&
                           datagram.header.type != wire::PacketType::pulse;
    if (datagram.to_group && is_stream) {
        reporter_.on_packet(now, datagram);
        if (!reassembly_.has_begun()) {
            call_.on_stream(now + limits_.ending.call_least);
        }
    }
}

void Receiver::on_data(Instant now, const Datagram& datagram) {
    const auto& header = datagram.header;
    if (outcome_.phase != Phase::moving || config_.holds_already) {
        reassembly_.drop(datagram);
        return;
    }
    const bool is_first_pass = header.rank == config_.source && datagram.to_group &&
                               (header.flags & wire::kFlagRepeat) == 0;
    if (is_first_pass) {
        on_first_pass(now, datagram);
    }
    if (!is_first_pass && parities_.is_expected() && datagram.to_group) {
        on_end(now);  // It was late for the first pass, or most were.
    }
    if (is_first_pass && parities_.is_parity(header)) {
        parities_.on_parity(datagram, reassembly_);
        return;
    }
    OpenBlock* open = reassembly_.on_data(datagram);
    if (open == nullptr) {
        return;
    }
    first_pass_placed_ += is_first_pass ? 1 : 0;
    repairs_.on_arrival(now, header.rank, *open, header.chunk.value());
}

/// The very last chunk means the end, as END does; if parities follow, the last of these does.
/// They may replace missing chunks, so these are not requested before.
void Receiver::on_first_pass(Instant now, const Datagram& datagram) {
    const Position place{.block = datagram.header.block.value(),
                         .chunk = datagram.header.chunk.value()};
    if (parities_.is_expected()) {
        first_pass_heard_ += parities_.is_parity(datagram.header) ? 0U : 1U;
        if (parities_.is_last(datagram.header)) {
            on_end(now);
        }
        return;
    }
    first_pass_heard_ += reassembly_.was_held_before(datagram.header.block) ? 0U : 1U;
    repairs_.on_first_pass(now, place);
    if (place.block + 1 == reassembly_.map().blocks() &&
        reassembly_.descriptors().knows(datagram.header.block) &&
        place.chunk + 1 == reassembly_.chunks(datagram.header.block)) {
        on_end(now);
    }
}

void Receiver::on_end(Instant now) {
    repairs_.on_end(now, reassembly_.map().blocks());
}

/// True for an OFFER with smaller packets than this member's, but not smaller than agreed.
bool Receiver::is_careful_offer(const Datagram& datagram) const {
    if (config_.chunk_bytes_fallback == 0 || datagram.header.type != wire::PacketType::offer ||
        datagram.header.rank != config_.source || !standing_.is_for_me(datagram) || is_over() ||
        !reassembly_.is_untouched()) {
        return false;
    }
    const auto offer = wire::read_offer(datagram.body);
    return offer && offer->chunk_bytes == config_.chunk_bytes_fallback;
}

void Receiver::on_offer(Instant now, const Datagram& datagram) {
    const auto offer = wire::read_offer(datagram.body);
    if (!offer || datagram.header.rank != config_.source || !standing_.is_for_me(datagram) ||
        is_over()) {
        return;
    }
    if (!reassembly_.has_begun()) {
        on_first_offer(now, *offer);
        if (is_over()) {
            return;
        }
    }
    if (offer->representatives) {
        reporter_.on_named(now, *offer->representatives);
    }
    if (!offer->descriptors.empty() && !config_.holds_already) {
        // (Earlier OFFERs may not have said so.)
        if (!std::exchange(comes_with_offers_, true)) {
            reporter_.be_rare();
        }
        reassembly_.on_describe({.first = BlockIndex{0}, .descriptors = offer->descriptors});
    }
    if (offer->chunk_bytes == config_.chunk_bytes) {
        ready_.on_offer(now, *offer, comes_with_offers_);
    }
}

void Receiver::on_first_offer(Instant now, const wire::Offer& offer) {
    if (offer.chunk_bytes != config_.chunk_bytes || offer.blocks > kBlocksMax) {
        fail(now,
             {Blame::node,
              "the source sends chunks of " + std::to_string(offer.chunk_bytes) + " bytes in " +
                  std::to_string(offer.blocks) + " blocks; this node takes " +
                  std::to_string(config_.chunk_bytes) + " bytes (its MTU) and " +
                  std::to_string(kBlocksMax) + " blocks"});
        return;
    }
    call_.on_offer();
    standing_.begin();
    reassembly_.begin({.blocks = offer.blocks, .object_bytes = offer.object_bytes});
    parities_.begin(offer.blocks, offer.parities);
    if (!parities_.is_expected()) {  // (One code covers all blocks of a small object.)
        reassembly_.hold_before(config_.held_before, config_.bytes_held_before);
        ready_.hold(reassembly_.map().first_unheld());
    }
    object_bytes_ = offer.object_bytes;
    if (outcome_.phase == Phase::wiring) {
        outcome_.phase = Phase::moving;
    }
    if (config_.holds_already && !is_finishing_) {
        order_finish();
    }
}

void Receiver::on_describe(Instant now, const Datagram& datagram) {
    if (const auto body = wire::read_describe(datagram.body); body && !is_over()) {
        if (body->representatives && datagram.header.rank == config_.source) {
            reporter_.on_named(now, *body->representatives);
        }
        if (config_.holds_already) {
            return;  // Not even a hole is stored.
        }
        reassembly_.on_describe(*body);
        if (datagram.to_group && datagram.header.rank == config_.source &&
            reassembly_.has_begun() && !parities_.is_expected() &&
            body->first.value() < reassembly_.map().blocks()) {
            repairs_.on_sent(now, {.block = body->first.value(), .chunk = 0});
        }
        repairs_.on_describe(now, datagram.header.rank, datagram.to_group);
    }
}

void Receiver::on_request(Instant now, const Datagram& datagram) {
    const auto body = wire::read_request(datagram.body);
    if (!body) {
        return;
    }
    if (is_over()) {
        ending_.answer(datagram.header.rank, control_);
        return;
    }
    server_.on_request(now, datagram.header.rank, *body, control_);
}

void Receiver::on_lacking(Instant now, const Datagram& datagram) {
    const auto body = wire::read_request(datagram.body);
    if (body && outcome_.phase == Phase::moving) {
        const bool is_busy = (datagram.header.flags & wire::kFlagBusy) != 0;
        repairs_.on_lacking(now, datagram.header.rank, *body, is_busy, reassembly_.map());
    }
}

void Receiver::on_child_done(Instant now, const Datagram& datagram) {
    const auto body = wire::read_done(datagram.body);
    if (!body) {
        return;
    }
    if (is_over()) {
        ending_.answer(datagram.header.rank, control_);
        return;
    }
    done_.on_done(now, *body);
    control_.push_peer(wire::PacketType::done_ack, datagram.header.rank, wire::write(*body));
}

void Receiver::on_release(Instant now, const Datagram& datagram) {
    const auto body = wire::read_ending(datagram.body);
    if (!body) {
        return;
    }
    const auto result =
        result_of(*body, config_, is_over() || outcome_.phase == Phase::holding);
    if (!result) {
        return;
    }
    ending_.on_release(now, *body, control_);
    if (outcome_.phase == Phase::failed) {  // (The source asks by the relay what became of it.)
        outcome_.relay = result->relay;
        outcome_.unreached = result->unreached;
    }
    if (is_over()) {
        return;
    }
    outcome_.phase = result->phase;
    outcome_.culprit = result->culprit;
    outcome_.why = result->why;
    outcome_.dropped = result->dropped;
    outcome_.relay = result->relay;
    outcome_.unreached = result->unreached;
    outcome_.was_unreachable =
        outcome_.was_unreachable ||
        std::ranges::find(outcome_.unreached, config_.own) != outcome_.unreached.end();
    stop();
}

/// A member that multicast does not reach learns the source's progress by unicast.
void Receiver::on_pulse(Instant now, const Datagram& datagram) {
    const auto body = wire::read_pulse(datagram.body);
    if (!body || datagram.header.rank != config_.source || datagram.to_group || is_over()) {
        return;
    }
    standing_.on_pulse(*body);
    if (!reassembly_.has_begun() || config_.holds_already) {
        return;
    }
    repairs_.set_swarm(standing_.is_swarm());
    if (body->block.value() >= reassembly_.map().blocks()) {
        on_end(now);
    } else if (!parities_.is_expected()) {
        repairs_.on_sent(now, {.block = body->block.value(), .chunk = body->chunk});
    }
}

// ---- completed operations

void Receiver::on_completion(Instant now, const Completion& completed) {
    if (completed.kind == OperationKind::place) {
        return reassembly_.end_sparing();
    }
    disk_watch_.on_completed(now);
    if (is_over()) {
        return;
    }
    switch (completed.kind) {
        case OperationKind::verify:
        case OperationKind::store:
            if (auto placed = reassembly_.on_done(completed); !placed) {
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

void Receiver::on_held(Instant now) {
    outcome_.phase = Phase::holding;
    outcome_.held_at = now;
    standing_.on_held();
    done_.on_held(now);
    if (config_.holds_already) {
        outcome_.bytes_held =
            object_bytes_;  // And it goes on reporting how the stream arrives.
    } else {
        reporter_.stop();
    }
    if (comes_with_offers_) {
        ready_.stop();
    }
}

void Receiver::on_loaded(const Completion& completed) {
    reassembly_.on_loaded(completed);
    server_.on_loaded(completed.block, completed.verdict == Verdict::good, control_);
}

// ---- what becomes due

/// Everything that becomes due by itself. Each part knows whether it has something to do.
void Receiver::work(Instant now) {
    if (!std::exchange(is_started_, true)) {
        source_.on_heard(now);
        standing_.start(now);
        if (!reassembly_.has_begun()) {
            call_.start(now);
        }
    }
    watch(now);
    if (!is_over()) {
        call_.poll(now, control_);
        // A child may hold the object before this member hears its first OFFER.
        done_.poll(now, control_);
    }
    if (!is_over() && reassembly_.has_begun()) {
        work_on_blocks(now);
        if (may_answer()) {
            ready_.poll(now, control_);
        }
        server_.expire(now, control_);
    }
    if (!is_over()) {
        if (standing_.watch(now)) {
            outcome_.was_unreachable = true;
            adjust_to_standing(now);
        }
        standing_.poll(now, control_);
    }
    ending_.poll(now, control_);
    stream_wait_.look(
        now, outcome_.phase == Phase::moving && reassembly_.is_crowded(), stream_bytes_per_s());
    outcome_.stream_may_wait_until = stream_wait_.until();
}

/// Fails if the source, the answers to it, or the own disk take too long.
void Receiver::watch(Instant now) {
    if (is_over()) {
        return;
    }
    if (auto why = source_.poll(now, outcome_.phase)) {
        return outcome_.phase == Phase::holding ? end_unheard() : fail(now, *std::move(why));
    }
    if (auto unheard = find_unheard(ready_, config_)) {
        fail(now, std::move(unheard->why));
        outcome_.culprit = unheard->is_sources_fault ? config_.source : config_.own;
        return;
    }
    watch_disk(now);
}

void Receiver::watch_disk(Instant now) {
    const auto timeout = disk_timeout();
    disk_watch_.look(now, timeout.has_value());
    if (timeout && disk_watch_.is_stuck(now, *timeout)) {
        fail(now, {Blame::node, "writing hangs: the disk of this node is stuck"});
    }
}

/// How long the disk may take for what it is doing now; nothing if it isn't waited for.
std::optional<Duration> Receiver::disk_timeout() const {
    if (outcome_.phase != Phase::moving || !reassembly_.has_begun()) {
        return std::nullopt;
    }
    if (is_finishing_) {
        return finish_timeout(config_, limits_.ending);
    }
    // A store may wait for earlier blocks, because they say where it belongs: only the first
    // block that isn't held shows whether the disk is at fault.
    const bool is_at_disk = reassembly_.is_first_at_disk();
    return is_at_disk ? std::optional{config_.stall_timeout} : std::nullopt;
}

void Receiver::work_on_blocks(Instant now) {
    if (config_.holds_already) {
        reporter_.poll(now,
                       repairs_.highest_received(),
                       reassembly_.map(),
                       reassembly_.placed(),
                       control_);
        return;
    }
    if (outcome_.phase != Phase::moving) {
        return;
    }
    parities_.poll(reassembly_);
    repairs_.poll(now, reassembly_, stream_rate(), control_);
    if (pacer_.rate_bytes_per_s() != repairs_.rate_bytes_per_s()) {
        pacer_.set_rate(now, repairs_.rate_bytes_per_s());
    }
    reporter_.poll(
        now, repairs_.highest_received(), reassembly_.map(), reassembly_.placed(), control_);
    outcome_.bytes_held = reassembly_.bytes_held();
    if (reassembly_.map().holds_all() && !is_finishing_) {
        const std::uint64_t chunks = reassembly_.chunks_held();
        outcome_.packets_lost = chunks - std::min(first_pass_heard_, chunks);
        outcome_.packets_repaired = chunks - std::min(first_pass_placed_, chunks);
        order_finish();
    }
}

void Receiver::order_finish() {
    is_finishing_ = true;
    reassembly_.operations().push_finish(Ticket{reassembly_.next_ticket()++});
}

/// Adjusts repair requests and reports to the standing.
void Receiver::adjust_to_standing(Instant now) {
    repairs_.set_outside(now, standing_.fetch_bytes_per_s(), standing_.is_swarm());
    reporter_.set_away(standing_.is_unreachable());
}

void Receiver::fail(Instant now, Error why) {
    if (is_over()) {
        return;
    }
    ending_.on_failure(now, why);
    outcome_.phase = Phase::failed;
    outcome_.culprit = config_.own;
    outcome_.why = std::move(why);
    stop();
}

/// This member holds the object; what became of the others is not its to say.
void Receiver::end_unheard() {
    outcome_.phase = Phase::released;
    outcome_.is_end_unheard = true;
    stop();
}

void Receiver::stop() {
    server_.clear();
    call_.stop();
    done_.stop();
    reporter_.stop();
    standing_.stop();
}

void Receiver::next_sends(Instant now, SendBatch& batch) {
    const std::size_t before = batch.packets;
    pacer_.charge(control_.drain(batch, numbers_));
    server_.fill(now, batch, pacer_, numbers_);
    outcome_.packets_sent += batch.packets - before;
}

void Receiver::next_operations(Instant now, OperationBatch& batch) {
    auto& operations = reassembly_.operations();
    if (!is_over()) {
        server_.order_loads(operations, reassembly_.next_ticket());
    }
    disk_watch_.order(now, operations, batch);
}

std::optional<Instant> Receiver::deadline() const {
    if (is_over()) {
        return ending_.deadline();
    }
    if (!is_started_ || server_.wants_loads()) {
        return kLongAgo;
    }
    auto first = earlier(ending_.deadline(), source_.deadline(outcome_.phase));
    first = earlier(first, earlier(call_.deadline(), done_.deadline()));
    first = earlier(first, earlier(standing_.deadline(), server_.deadline()));
    if (may_answer()) {
        first = earlier(first, ready_.deadline());
    }
    if (server_.is_waiting()) {
        first = earlier(first, pacer_.burst_at(kLongAgo));
    }
    if (const auto timeout = disk_timeout()) {
        first = earlier(first, disk_watch_.deadline(*timeout));
    }
    if (config_.holds_already) {
        return reassembly_.has_begun() ? earlier(first, reporter_.deadline(reassembly_.map()))
                                       : first;
    }
    if (outcome_.phase == Phase::moving) {
        first = earlier(first, repairs_.deadline(reassembly_));
        first = earlier(first, reporter_.deadline(reassembly_.map()));
    }
    return first;
}

}  // namespace stage::core
