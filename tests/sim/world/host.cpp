#include "tests/sim/world/host.h"

#include "tests/sim/world/make_core.h"
#include "tests/sim/world/newer.h"
#include "transport/core/base/limits.h"

#include <algorithm>
#include <bit>

namespace stage::sim {
namespace {

constexpr std::uint64_t kUplinkFull = 256U << 10U;
constexpr std::uint64_t kUplinkFree = 128U << 10U;
constexpr std::uint32_t kTurnsAtOnceMax = 200;

}  // namespace

Host::Host(const Plan& plan, std::uint16_t rank, const Dependencies& world)
    : plan_{plan},
      own_{plan.member[rank]},
      rank_{rank},
      events_{world.events},
      clock_{own_, events_},
      network_{world.network},
      complain_{world.complain},
      own_chance_{world.prng.next()},
      content_{plan, rank, world.prng, complain_},
      sealing_{plan, rank},
      stalls_{plan.stalls, plan.seed * 1000 + rank},
      inbox_{plan.socket_buffer_bytes} {
    const MakeCore make = [this] { return make_core(plan_, rank_, own_chance_); };
    core_ = world.dress ? world.dress(rank, make) : make();
}

void Host::start() {
    wake_at(Instant{own_.start_at});
    if (own_.crash_at) {
        events_.at<&Host::crash>(Instant{*own_.crash_at}, *this);
    }
    if (own_.abort_at) {
        events_.at<&Host::abort>(Instant{*own_.abort_at}, *this);
    }
    if (plan_.all_listen_at) {
        events_.at<&Host::all_listen>(Instant{*plan_.all_listen_at}, *this);
    }
}

void Host::crash(std::uint64_t) {
    is_dead_ = true;
    inbox_.clear();
    over_at_ = over_at_ ? over_at_ : events_.now();
}

void Host::abort(std::uint64_t) {
    if (!is_dead_ && events_.now() >= Instant{own_.start_at}) {
        core_->on_abort(clock_.now(), Error{Blame::user, "aborted from outside"});
        turn();
    }
}

void Host::all_listen(std::uint64_t) {
    if (!is_dead_) {
        core_->on_all_listen(clock_.now());
        turn();
    }
}

bool Host::is_over() const {
    const core::Phase phase = outcome().phase;
    const bool ended = phase == core::Phase::released || phase == core::Phase::failed;
    return is_dead_ || (ended && !core_->deadline());
}

void Host::deliver(Instant at, const TrainUse& train, PacketMask mask) {
    if (is_dead_ || over_at_ || at < Instant{own_.start_at}) {
        return;
    }
    at = plan_.stalls.holds_kernel ? stalls_.awake(at) : at;
    if (inbox_.put(at, train, mask)) {
        wake_at(at + wake_latency());
    }
}

/// At most one event is on its way that comes in time; a later one is planned by that.
void Host::wake_at(Instant when) {
    when = stalls_.awake(std::max({when, events_.now(), cpu_busy_until_}));
    wake_ = std::min(wake_, when);
    if (wake_ < queued_) {
        queued_ = wake_;
        events_.at<&Host::wake>(
            queued_, *this, static_cast<std::uint64_t>(queued_.time_since_epoch().count()));
    }
}

void Host::wake(std::uint64_t queued) {
    const Instant planned{Duration{static_cast<Duration::rep>(queued)}};
    if (planned != queued_ || is_dead_) {
        return;
    }
    queued_ = kNever;
    if (wake_ > events_.now()) {
        wake_at(wake_);
        return;
    }
    wake_ = kNever;
    turn();
}

void Host::turn() {
    if (over_at_) {
        return;
    }
    turns_at_once_ = turned_at_ == events_.now() ? turns_at_once_ + 1 : 0;
    turned_at_ = events_.now();
    if (turns_at_once_ == kTurnsAtOnceMax) {
        complain_("it spins: turn after turn at one instant");
    }
    receive();
    if (!completions_.empty()) {
        const auto completions = std::exchange(completions_, {});
        core_->on_done(clock_.now(), completions);
    }
    if (const auto deadline = core_->deadline(); deadline && *deadline <= clock_.now()) {
        ++times_woken_;
        core_->on_time(clock_.now());
    }
    operate();
    send();
    check();
    sleep();
}

void Host::receive() {
    datagrams_.clear();
    leases_.clear();
    bodies_.clear();
    taken_.clear();
    std::uint32_t taken = 0;
    while (taken < plan_.packets_per_turn) {
        auto first = inbox_.take(events_.now(), stream_waits());
        if (!first) {
            break;
        }
        const Inbox::Arrival& arrival = taken_.emplace_back(*std::move(first));
        if (arrival.train->to_group && !hears_group_) {
            continue;
        }
        taken += arrival.packets();
        for (PacketMask mask = arrival.mask; mask != 0; mask &= mask - 1) {
            take_packet(arrival, static_cast<std::uint32_t>(std::countr_zero(mask)));
        }
    }
    cpu_busy_until_ = events_.now() + own_.packet_cost * static_cast<std::int64_t>(taken);
    if (!datagrams_.empty()) {
        core_->on_datagrams(clock_.now(), datagrams_);
        operate();
        if (std::ranges::any_of(leases_, [](std::uint64_t content) { return content != 0; })) {
            complain_("a lease was not ended before the next datagrams");
        }
    }
    taken_.clear();
}

bool Host::stream_waits() const {
    return clock_.now() < outcome().stream_may_wait_until;
}

void Host::take_packet(const Inbox::Arrival& arrival, std::uint32_t index) {
    const Train& train = *arrival.train;
    const bool is_hurt = plan_.loss.corrupt_ppm > 0 &&
                         events_.now().time_since_epoch() < plan_.heals_at &&
                         own_chance_.chance_ppm(plan_.loss.corrupt_ppm);
    const auto opened = sealing_.open(train, index, is_hurt, own_chance_);
    if (!opened) {
        return;
    }
    core::Datagram& datagram = datagrams_.emplace_back();
    datagram.header = opened->header;
    datagram.to_group = train.to_group;
    datagram.body_bytes = train.body_bytes_of(index);
    datagram.arrived_at = stamp(arrival, index);
    datagram.overflow = static_cast<std::uint32_t>(inbox_.overflowed());
    datagram.fill = inbox_.fill(events_.now());
    if (opened->header.is_data()) {
        leases_.push_back(opened->content);
        datagram.lease = core::Ticket{leases_.size()};
        return;
    }
    const auto type = static_cast<std::size_t>(opened->header.type);
    ++heard_[type];
    heard_bytes_[type] += opened->body.size() + core::kWireOverheadBytes;
    datagram.body = opened->body;
    if (plan_.is_really_sealed) {
        bodies_.emplace_back(opened->body.begin(), opened->body.end());
        datagram.body = bodies_.back();
    }
}

/// As a kernel stamps arrivals: by the host's clock, and never quite exactly.
Instant Host::stamp(const Inbox::Arrival& arrival, std::uint32_t index) {
    const Train& train = *arrival.train;
    const auto later =
        static_cast<std::uint32_t>(std::bit_width(arrival.mask)) - 1 - std::min(index, 63U);
    const Duration each =
        std::max(train.spacing,
                 network_.downlink(rank_).time_of(train.body_bytes + core::kWireOverheadBytes));
    const auto noise = static_cast<std::uint64_t>(plan_.stamp_noise.count());
    const auto late = static_cast<Duration::rep>(noise > 0 ? own_chance_.below(noise) : 0);
    return clock_.stamp(arrival.at - each * later) + Duration{late};
}

void Host::operate() {
    for (;;) {
        operations_.operations.clear();
        core_->next_operations(clock_.now(), operations_);
        follow_cut();
        if (operations_.operations.empty()) {
            return;
        }
        for (const core::Operation& operation : operations_.operations) {
            perform(operation);
        }
    }
}

/// The core may have changed the size of its packets.
void Host::follow_cut() {
    if (outcome().chunk_bytes != content_.object().cut()) {
        content_.recut(outcome().chunk_bytes);
    }
}

void Host::perform(const core::Operation& operation) {
    switch (operation.kind) {
        case core::OperationKind::place:
            return place(operation);
        case core::OperationKind::drop:
            if (operation.ticket.index() - 1 >= leases_.size() ||
                leases_[operation.ticket.index() - 1] == 0) {
                return complain_("a lease was dropped that isn't one");
            }
            leases_[operation.ticket.index() - 1] = 0;
            return;
        case core::OperationKind::release:
            return content_.release(operation.block);
        case core::OperationKind::encode:
        case core::OperationKind::reconstruct:
            return content_.code(operation);
        case core::OperationKind::leave_group:
            left_at_ = left_at_ ? left_at_ : events_.now();
            hears_group_ = false;
            return network_.hear_group(rank_, false);
        case core::OperationKind::join_group:
            hears_group_ = true;
            return network_.hear_group(rank_, true);
        case core::OperationKind::load:
        case core::OperationKind::verify:
        case core::OperationKind::store:
        case core::OperationKind::finish:
            return submit(operation);
    }
}

void Host::place(const core::Operation& operation) {
    const std::size_t lease = operation.ticket.index() - 1;
    if (lease >= leases_.size() || leases_[lease] == 0) {
        return complain_("a lease was placed that isn't one");
    }
    content_.place(operation.block, operation.chunk, leases_[lease]);
    leases_[lease] = 0;
}

void Host::send() {
    is_blocked_ = false;
    for (;;) {
        if (plan_.uplink_buffer_bytes == 0 && network_.uplink_backlog(rank_) > kUplinkFull) {
            is_blocked_ = true;
            return;
        }
        sends_.sends.clear();
        sends_.packets = 0;
        core_->next_sends(clock_.now(), sends_);
        follow_cut();
        if (sends_.sends.empty()) {
            return;
        }
        for (const core::Send& each : sends_.sends) {
            transmit(each);
        }
    }
}

void Host::transmit(const core::Send& send) {
    if (send.packet_number <= last_number_ || send.count == 0) {
        complain_("a packet number was not new");
    }
    last_number_ = send.packet_number + send.count - 1;
    if (!send.to.to_group &&
        (send.to.peer.value() >= plan_.members || send.to.peer.value() == rank_)) {
        return complain_("a packet was sent to no member");
    }
    if (send.count > kPacketsMax) {
        return complain_("a train was longer than a kernel takes");
    }
    Train& train = network_.make();
    train.from = rank_;
    train.to_group = send.to.to_group;
    train.to = send.to.peer.value();
    train.header = {};
    train.header.type = send.type;
    train.header.flags = send.flags;
    train.header.rank = Rank{rank_};
    train.header.packet_number = send.packet_number;
    train.count = send.count;
    train.contents.clear();
    if (send.type == wire::PacketType::data) {
        cut(send, train);
    } else {
        train.body = send.body;
        train.body_bytes = static_cast<std::uint32_t>(send.body.size());
        train.last_body_bytes = train.body_bytes;
    }
    if (own_.is_newer) {
        speak_newer(train);
    }
    sealing_.seal(train);
    network_.send(train);
}

void Host::cut(const core::Send& send, Train& train) {
    train.header.block = send.block;
    train.header.chunk = send.first;
    for (std::uint32_t i = 0; i < send.count; ++i) {
        train.contents.push_back(content_.cut(send.block, send.first.value() + i));
    }
    const std::uint32_t last = send.first.value() + send.count - 1U;
    train.body_bytes = content_.object().sent_bytes(send, send.first.value());
    train.last_body_bytes = content_.object().sent_bytes(send, last);
    data_sent_ += send.count;
    first_data_at_ = first_data_at_ ? first_data_at_ : events_.now();
    last_data_at_ = events_.now();
}

void Host::check() {
    const core::Outcome& now = outcome();
    const bool claims = now.phase == core::Phase::holding || now.phase == core::Phase::released;
    if (claims && !content_.is_whole()) {
        complain_("it says that it holds what it doesn't");
    }
    if (claims && !held_at_) {
        held_at_ = events_.now();
    }
    if (now.phase == core::Phase::failed && !now.why) {
        complain_("it failed without saying why");
    }
}

/// How late the next wake-up comes, whatever causes it.
void Host::draw_lateness() {
    late_ = Duration::zero();
    if (plan_.wake_late_max > Duration::zero() && own_chance_.chance_ppm(250'000)) {
        const auto most = static_cast<std::uint64_t>(plan_.wake_late_max.count());
        late_ = Duration{static_cast<Duration::rep>(own_chance_.below(most))};
    }
}

Duration Host::wake_latency() const {
    return plan_.wake_latency + own_.wake_latency + late_;
}

void Host::sleep() {
    if (is_over()) {
        over_at_ = events_.now();
        inbox_.clear();
        return;
    }
    draw_lateness();
    if (is_blocked_) {
        wake_at(network_.uplink_drained(rank_, kUplinkFree));
    } else if (const auto deadline = core_->deadline()) {
        const Instant due = clock_.world_time(*deadline);
        wake_at(due + (due > events_.now() ? wake_latency() : Duration{}));
    } else {
        complain_("it waits for nothing");
    }
    if (stream_waits()) {
        wake_at(clock_.world_time(outcome().stream_may_wait_until));
    }
    if (const auto first = inbox_.first_at(stream_waits())) {
        wake_at(*first + wake_latency());
    }
}

}  // namespace stage::sim
