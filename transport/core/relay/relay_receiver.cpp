#include "transport/core/relay/relay_receiver.h"

#include "transport/base/invariant.h"
#include "transport/core/base/rank_set.h"
#include "transport/core/base/repeater.h"
#include "transport/core/base/timeouts.h"
#include "transport/core/membership/member_ending.h"
#include "transport/core/membership/release.h"
#include "transport/core/receiver/reassembly.h"
#include "transport/core/relay/relay_children.h"
#include "transport/core/relay/relay_lag.h"
#include "transport/core/relay/relay_parent.h"
#include "transport/core/relay/relay_tree.h"
#include "transport/core/sending/disk_watch.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace stage::core {

struct RelayReceiver::RelayReception {
    RelayReception(const CoreConfig& given,
                   std::uint32_t degree,
                   const RelayLimits& limits_,
                   const Limits& common);

    void on_datagram(Instant now, const Datagram& datagram);
    void on_parent(Instant now, const Datagram& datagram);
    void on_parent_holds(Instant now, std::uint32_t blocks);
    void on_child(Instant now, const Datagram& datagram);
    void on_offer(Instant now, const wire::Offer& offer);
    void on_ready(Instant now, Rank child);
    void on_request(Rank child, const wire::Request& request);
    void on_leave(const wire::Ending& leave);
    void on_release(Instant now, const wire::Ending& release);
    void on_link(Instant now, const LinkEvent& event);
    void on_completion(Instant now, const Completion& done);

    void work(Instant now);
    void connect(Instant now);
    void tell_pulse(Instant now);
    void order(OperationKind kind, Rank peer);
    void watch(Instant now);
    void watch_disk(Instant now);
    void request_blocks();
    void request_again();
    void report_done(Instant now);
    void order_finish();
    void fail(Instant now, Error why);
    void end(Phase phase);
    void take(Instant now, OperationBatch& batch);
    [[nodiscard]] std::optional<Instant> next() const;

    [[nodiscard]] wire::ChunkRun rest_of(const OpenBlock& open) const;
    [[nodiscard]] std::uint32_t blocks_held() const;
    [[nodiscard]] std::optional<Instant> done_at() const;
    [[nodiscard]] std::optional<Instant> unheard_at() const;
    [[nodiscard]] std::optional<Duration> disk_timeout() const;
    [[nodiscard]] bool is_over() const {
        return outcome.phase == Phase::released || outcome.phase == Phase::failed;
    }
    [[nodiscard]] bool wants_blocks() const {
        return outcome.phase == Phase::moving && !config.holds_already;
    }

    CoreConfig config;
    RelayLimits limits;
    EndingLimits ending;
    RelayTree tree;
    std::uint32_t subtree;  ///< Members from this one on down.
    Outcome outcome;
    Numbering numbers;
    ControlQueue control;
    Reassembly reassembly;
    RelayParent parent;
    RelayLag lag;
    RelayChildren children;
    RankSet done;      ///< Members known to hold the object.
    RankSet reported;  ///< The part of `done` that the present parent has received.
    Instant reported_at = kLongAgo;
    DiskWatch disk_watch;
    Instant source_at{};  ///< The last sign of life from the source, as parents pass it on.
    bool was_source_heard = false;
    bool is_aside = false;
    bool is_started = false;
    bool is_finishing = false;
    std::uint64_t object_bytes = 0;
    std::vector<std::byte> offer_body;  ///< As it came; empty before.
    std::optional<wire::Ending> leave;
    std::optional<wire::Ending> released;
    std::optional<Instant> pulse_at;
    std::optional<Instant> stays_until;  ///< Once it is over.
};

RelayReceiver::RelayReception::RelayReception(const CoreConfig& given,
                                              std::uint32_t degree,
                                              const RelayLimits& limits_,
                                              const Limits& common)
    : config{with_default_timeouts(given)},
      limits{scaled(limits_, config)},
      ending{common.ending},
      tree{.members = config.members, .source = config.source, .degree = degree},
      subtree{tree.size_below(tree.place(config.own))},
      control{control_max(config)},
      reassembly{config, common},
      parent{config, limits, tree},
      lag{limits.requested_max},
      children{config, limits, reassembly, reassembly.pool()},
      done{config.members},
      reported{config.members} {
    invariant(config.own != config.source && config.own.value() < config.members &&
                  config.source.value() < config.members && config.resident_blocks >= 2 &&
                  degree >= 1,
              "a receiver is a member of its group and has room for two blocks");
    outcome.chunk_bytes = config.chunk_bytes;
}

// ---- received packets

void RelayReceiver::RelayReception::on_datagram(Instant now, const Datagram& datagram) {
    const bool is_parents = parent.on_packet(now, datagram.header.rank);
    children.on_heard(now, datagram.header.rank);
    if (datagram.header.is_data()) {
        if (wants_blocks() && is_parents) {
            static_cast<void>(reassembly.on_data(datagram));
        } else {
            reassembly.drop(datagram);
        }
    } else if (is_parents) {
        on_parent(now, datagram);
    } else {
        on_child(now, datagram);
    }
}

void RelayReceiver::RelayReception::on_parent(Instant now, const Datagram& datagram) {
    using wire::PacketType;
    if (datagram.header.type == PacketType::offer) {
        const bool is_wanted = offer_body.empty() && !is_over();
        if (const auto body = wire::read_offer(datagram.body); body && is_wanted) {
            offer_body.assign(datagram.body.begin(), datagram.body.end());
            on_offer(now, *body);
        }
    } else if (datagram.header.type == PacketType::describe) {
        if (const auto body = wire::read_describe(datagram.body); body && wants_blocks()) {
            reassembly.on_describe(*body);
        }
    } else if (datagram.header.type == PacketType::lacking) {
        if (wants_blocks()) {
            parent.leave(now);
        }
    } else if (datagram.header.type == PacketType::pulse) {
        if (const auto body = wire::read_pulse(datagram.body)) {
            const Instant sign = now - std::chrono::microseconds{body->queue_us};
            source_at = std::max(source_at, sign);
            was_source_heard = true;
            pulse_at = std::min(pulse_at.value_or(now), now);  // It goes on at once.
            on_parent_holds(now, body->packets);
        }
    } else if (datagram.header.type == PacketType::release) {
        if (const auto body = wire::read_ending(datagram.body)) {
            on_release(now, *body);
        }
    }
}

/// A slow member of a chain delays all below it, unless it steps aside. (The source says of no
/// block that it holds it.) One that came from another parent does not: if that one stepped
/// aside, too, it is the present parent that sends slowly.
void RelayReceiver::RelayReception::on_parent_holds(Instant now, std::uint32_t blocks) {
    const bool is_last = tree.place(config.own) + 1 == tree.members;
    if (!wants_blocks() || is_aside || is_last || tree.degree > 1 || !parent.is_first() ||
        !lag.on_pulse(blocks, reassembly.map().held()) || children.is_empty()) {
        return;
    }
    is_aside = true;
    subtree = 1;
    children.dismiss(reassembly.operations());
    parent.step_aside(now);
}

void RelayReceiver::RelayReception::on_child(Instant now, const Datagram& datagram) {
    using wire::PacketType;
    const Rank from = datagram.header.rank;
    if (datagram.header.type == PacketType::ready) {
        on_ready(now, from);
    } else if (!children.has(from)) {
        return;
    } else if (datagram.header.type == PacketType::request) {
        if (const auto body = wire::read_request(datagram.body)) {
            on_request(from, *body);
        }
    } else if (datagram.header.type == PacketType::done) {
        if (const auto body = wire::read_done(datagram.body)) {
            done.add(body->ranks);
        }
    } else if (datagram.header.type == PacketType::pulse) {
        if (const auto body = wire::read_pulse(datagram.body)) {
            children.on_pulse(from, body->packets);
        }
    } else if (datagram.header.type == PacketType::leave) {
        if (const auto body = wire::read_ending(datagram.body)) {
            on_leave(*body);
        }
    } else if (datagram.header.type == PacketType::done_ack && released) {
        children.on_confirmed(from);
    }
}

void RelayReceiver::RelayReception::on_offer(Instant now, const wire::Offer& offer) {
    if (offer.chunk_bytes != config.chunk_bytes || offer.blocks > kBlocksMax) {
        return fail(now,
                    {Blame::node,
                     "the source sends chunks of " + std::to_string(offer.chunk_bytes) +
                         " bytes in " + std::to_string(offer.blocks) +
                         " blocks; this node takes " + std::to_string(config.chunk_bytes) +
                         " bytes and " + std::to_string(kBlocksMax) + " blocks"});
    }
    reassembly.begin({.blocks = offer.blocks, .object_bytes = offer.object_bytes});
    reassembly.hold_before(config.held_before, config.bytes_held_before);
    object_bytes = offer.object_bytes;
    outcome.phase = Phase::moving;
    children.tell_all(wire::PacketType::offer, offer_body, control);
}

/// The offer follows when it is here.
void RelayReceiver::RelayReception::on_ready(Instant now, Rank child) {
    if (is_aside) {
        return order(OperationKind::hang_up, child);
    }
    children.on_ready(now, child);
    if (released) {
        control.push_peer(wire::PacketType::release, child, wire::write(*released));
    } else if (!offer_body.empty()) {
        control.push_peer(wire::PacketType::offer, child, offer_body);
    }
}

void RelayReceiver::RelayReception::on_request(Rank child, const wire::Request& request) {
    if (!is_over()) {
        children.on_request(child, request, control);
    }
}

/// A member below cannot go on: the source decides what that means.
void RelayReceiver::RelayReception::on_leave(const wire::Ending& from_below) {
    if (!leave || leave->rank != from_below.rank) {
        control.push_peer(wire::PacketType::leave, parent.rank(), wire::write(from_below));
    }
    if (!leave) {
        leave = from_below;  // For another parent.
    }
}

void RelayReceiver::RelayReception::on_release(Instant now, const wire::Ending& release) {
    const auto result =
        result_of(release, config, is_over() || outcome.phase == Phase::holding);
    if (released || !result) {
        return;
    }
    const wire::Done own{.ranks = {{.first = config.own, .last = config.own}}};
    control.push_peer(wire::PacketType::done_ack, parent.rank(), wire::write(own));
    parent.stop();
    released = release;
    children.tell_all(wire::PacketType::release, wire::write(release), control);
    stays_until = now + limits.end_timeout;
    if (is_over()) {
        return;
    }
    outcome.culprit = result->culprit;
    outcome.why = result->why;
    outcome.dropped = result->dropped;
    end(result->phase);
}

void RelayReceiver::RelayReception::on_link(Instant now, const LinkEvent& event) {
    children.on_link(event);
    if (!released) {
        parent.on_link(now, event);
    }
}

// ---- completed operations

void RelayReceiver::RelayReception::on_completion(Instant now, const Completion& completed) {
    disk_watch.on_completed(now);
    if (is_over()) {
        return;
    }
    if (completed.kind == OperationKind::load) {
        reassembly.on_loaded(completed);
        children.on_loaded(completed.block, completed.verdict == Verdict::good, control);
    } else if (completed.kind == OperationKind::finish) {
        if (completed.verdict != Verdict::good) {
            return fail(now, completed.why);
        }
        outcome.phase = Phase::holding;
        outcome.held_at = now;
        outcome.bytes_held = object_bytes;
        done.add(config.own);
    } else if (auto placed = reassembly.on_done(completed); !placed) {
        fail(now, std::move(placed).error());
    }
}

// ---- what becomes due

void RelayReceiver::RelayReception::work(Instant now) {
    if (!std::exchange(is_started, true)) {
        parent.start(now);
        source_at = now;
        pulse_at = now + limits.pulse;
    }
    if (!is_over()) {
        watch(now);
    }
    if (pulse_at && now >= *pulse_at) {
        pulse_at = now + limits.pulse;
        tell_pulse(now);
        children.expire(now, config.stall_timeout / 2, reassembly.operations());
    }
    connect(now);
    if (wants_blocks() && parent.is_connected()) {
        request_blocks();
    }
    order_finish();
    report_done(now);
    if (stays_until && (now >= *stays_until || (released && children.is_empty()))) {
        stays_until.reset();
        pulse_at.reset();
        parent.stop();
    }
}

/// With the age of the last sign from the source: members that the source does not reach
/// find that out together, not one after another.
void RelayReceiver::RelayReception::tell_pulse(Instant now) {
    const auto age = std::chrono::duration_cast<std::chrono::microseconds>(now - source_at);
    wire::Pulse pulse;
    pulse.queue_us = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(age.count(), 0, std::numeric_limits<std::uint32_t>::max()));
    pulse.packets = reassembly.has_begun() ? reassembly.map().held() : 0;
    children.tell_all(wire::PacketType::pulse, wire::write(pulse), control);
}

void RelayReceiver::RelayReception::connect(Instant now) {
    if (released) {
        return;
    }
    parent.poll(now, blocks_held(), control);
    if (const auto left = parent.take_left()) {
        order(OperationKind::hang_up, *left);
    }
    if (const auto next = parent.take_connect()) {
        order(OperationKind::connect, *next);
    }
    if (parent.take_connected()) {
        lag.restart();
        reported.clear();
        reported_at = kLongAgo;
        if (leave) {
            control.push_peer(wire::PacketType::leave, parent.rank(), wire::write(*leave));
        }
        if (wants_blocks()) {
            request_again();
        }
    }
}

void RelayReceiver::RelayReception::order(OperationKind kind, Rank peer) {
    Operation operation;
    operation.kind = kind;
    operation.peer = peer;
    reassembly.operations().push_back(operation);
}

/// The chunks from the first missing one on; in order, so nearly always these are missing.
wire::ChunkRun RelayReceiver::RelayReception::rest_of(const OpenBlock& open) const {
    const std::uint32_t first = open.have.next_absent(0);
    return {.block = open.block,
            .first = static_cast<std::uint16_t>(first),
            .count = static_cast<std::uint16_t>(0xffff - first)};
}

/// Requests new blocks, as many as there is memory for.
void RelayReceiver::RelayReception::request_blocks() {
    std::uint32_t filling = 0;
    for (std::size_t i = 0; i < reassembly.map().open_count(); ++i) {
        filling += reassembly.map().at(i).state == OpenState::filling ? 1U : 0U;
    }
    const std::uint32_t most =
        std::clamp(limits.requested_max, 1U, std::max(config.resident_blocks / 2, 1U));
    wire::Request request;
    while (filling < most) {
        const auto opened = reassembly.open_next();
        if (!opened) {
            break;
        }
        request.runs.push_back(rest_of(*reassembly.map().find(*opened)));
        ++filling;
    }
    if (!request.runs.empty()) {
        control.push_peer(wire::PacketType::request, parent.rank(), wire::write(request));
    }
}

/// A new parent knows nothing of what was requested.
void RelayReceiver::RelayReception::request_again() {
    wire::Request request;
    for (std::size_t i = 0; i < reassembly.map().open_count(); ++i) {
        if (const OpenBlock& open = reassembly.map().at(i); open.state == OpenState::filling) {
            request.runs.push_back(rest_of(open));
        }
    }
    if (!request.runs.empty()) {
        control.push_peer(wire::PacketType::request, parent.rank(), wire::write(request));
    }
}

void RelayReceiver::RelayReception::order_finish() {
    const bool holds_all =
        reassembly.has_begun() && (config.holds_already || reassembly.map().holds_all());
    if (reassembly.has_begun()) {
        outcome.bytes_held = reassembly.bytes_held();
    }
    if (!holds_all || is_finishing || outcome.phase != Phase::moving) {
        return;
    }
    is_finishing = true;
    Operation finish;
    finish.kind = OperationKind::finish;
    finish.ticket = Ticket{reassembly.next_ticket()++};
    reassembly.operations().push_back(finish);
}

/// At once if all members below hold it; otherwise after a while, together with others.
std::optional<Instant> RelayReceiver::RelayReception::done_at() const {
    if (is_over() || !parent.is_heard() || done.count() == reported.count()) {
        return std::nullopt;
    }
    return done.count() >= subtree ? kLongAgo : reported_at + limits.done_gather;
}

void RelayReceiver::RelayReception::report_done(Instant now) {
    while (done_at() && now >= *done_at()) {
        const wire::Done body{.ranks = done.runs(wire::kMaxRankRuns, reported)};
        reported.add(body.ranks);
        reported_at = now;
        control.push_peer(wire::PacketType::done, parent.rank(), wire::write(body));
    }
}

std::uint32_t RelayReceiver::RelayReception::blocks_held() const {
    if (!reassembly.has_begun()) {
        return children.blocks_held();
    }
    return children.blocks_held() +
           (config.holds_already ? reassembly.map().blocks() : reassembly.map().held());
}

/// When this member has heard no ancestor for too long.
std::optional<Instant> RelayReceiver::RelayReception::unheard_at() const {
    const Duration timeout = !was_source_heard                 ? config.ready_timeout
                             : outcome.phase == Phase::holding ? limits.unheard_end
                                                               : config.stall_timeout;
    return is_over() ? std::nullopt : std::optional{source_at + timeout + Duration{1}};
}

void RelayReceiver::RelayReception::watch(Instant now) {
    if (const auto at = unheard_at(); at && now >= *at) {
        if (outcome.phase == Phase::holding) {
            outcome.is_end_unheard = true;
            return end(Phase::released);
        }
        return fail(now,
                    {Blame::node,
                     was_source_heard
                         ? "the source and every node between it and this node fell silent"
                         : "no connection to the source or to a node between it and this node: "
                           "the data ports (DataPortRange, TCP) are closed, or the network of "
                           "this node fails"});
    }
    watch_disk(now);
}

void RelayReceiver::RelayReception::watch_disk(Instant now) {
    const auto timeout = disk_timeout();
    disk_watch.look(now, timeout.has_value());
    if (timeout && disk_watch.is_stuck(now, *timeout)) {
        fail(now, {Blame::node, "writing hangs: the disk of this node is stuck"});
    }
}

/// How long the disk may take for what it is doing now; nothing if it isn't waited for.
std::optional<Duration> RelayReceiver::RelayReception::disk_timeout() const {
    if (outcome.phase != Phase::moving) {
        return std::nullopt;
    }
    if (is_finishing) {
        return finish_timeout(config, ending);
    }
    return reassembly.is_first_at_disk() ? std::optional{config.stall_timeout} : std::nullopt;
}

/// The member stays until RELEASE answers its LEAVE, or a moment.
void RelayReceiver::RelayReception::fail(Instant now, Error why) {
    if (is_over()) {
        return;
    }
    leave = wire::Ending{
        .outcome = outcome_of(why.blame()), .rank = config.own, .why = why_of(why)};
    control.push_peer(wire::PacketType::leave, parent.rank(), wire::write(*leave));
    outcome.culprit = config.own;
    outcome.why = std::move(why);
    end(Phase::failed);
    stays_until = now + limits.end_timeout;
}

void RelayReceiver::RelayReception::end(Phase phase) {
    outcome.phase = phase;
    children.stop();
}

void RelayReceiver::RelayReception::take(Instant now, OperationBatch& batch) {
    auto& operations = reassembly.operations();
    if (!is_over()) {
        children.order_loads(operations, reassembly.next_ticket());
    }
    while (!operations.empty() && !batch.full()) {
        disk_watch.on_ordered(now, operations.front());
        batch.operations.push_back(operations.pop_front());
    }
}

std::optional<Instant> RelayReceiver::RelayReception::next() const {
    if (!is_started) {
        return kLongAgo;
    }
    if (is_over()) {
        return stays_until ? earlier(stays_until, earlier(pulse_at, parent.deadline()))
                           : std::nullopt;
    }
    if (children.can_send() || children.wants_loads()) {
        return kLongAgo;
    }
    auto first =
        earlier(earlier(pulse_at, parent.deadline()), earlier(done_at(), unheard_at()));
    if (const auto timeout = disk_timeout()) {
        first = earlier(first, disk_watch.deadline(*timeout));
    }
    return first;
}

// ---- the contract

RelayReceiver::RelayReceiver(const CoreConfig& config,
                             std::uint32_t degree,
                             RelayLimits limits,
                             Limits common)
    : reception_{std::make_unique<RelayReception>(config, degree, limits, common)} {
}
RelayReceiver::RelayReceiver(RelayReceiver&&) noexcept = default;
RelayReceiver::~RelayReceiver() = default;

void RelayReceiver::on_datagrams(Instant now, std::span<const Datagram> datagrams) {
    for (const Datagram& datagram : datagrams) {
        reception_->on_datagram(now, datagram);
    }
    reception_->work(now);
}

void RelayReceiver::on_links(Instant now, std::span<const LinkEvent> events) {
    for (const LinkEvent& event : events) {
        reception_->on_link(now, event);
    }
    reception_->work(now);
}

void RelayReceiver::on_done(Instant now, std::span<const Completion> completions) {
    for (const Completion& completed : completions) {
        reception_->on_completion(now, completed);
    }
    reception_->work(now);
}

void RelayReceiver::on_time(Instant now) {
    reception_->work(now);
}

void RelayReceiver::on_abort(Instant now, const Error& why) {
    reception_->fail(now, why);
    reception_->work(now);
}

void RelayReceiver::on_all_listen(Instant now) {
    reception_->work(now);
}

void RelayReceiver::next_sends(Instant /*now*/, SendBatch& sends) {
    const std::size_t before = sends.packets;
    reception_->control.drain(sends, reception_->numbers);
    reception_->children.fill(sends, reception_->numbers);
    reception_->outcome.packets_sent += sends.packets - before;
}

void RelayReceiver::next_operations(Instant now, OperationBatch& operations) {
    reception_->take(now, operations);
}

std::optional<Instant> RelayReceiver::deadline() const {
    return reception_->next();
}

const Outcome& RelayReceiver::outcome() const {
    return reception_->outcome;
}

}  // namespace stage::core
