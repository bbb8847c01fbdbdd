#include "transport/run/session.h"

#include "transport/base/invariant.h"
#include "transport/run/object/erasure.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace stage {
namespace {

constexpr Duration kTellEvery = std::chrono::milliseconds{100};
constexpr Duration kWaitMax = std::chrono::milliseconds{100};
/// For what is still to be sent once the core is over.
constexpr Duration kLastSendsMax = std::chrono::seconds{1};
/// While full outlets keep the core from sending only their room is awaited: its sends are
/// overdue all the time.
constexpr Duration kRefusedWait = std::chrono::milliseconds{1};
/// Rounds of asking a core for more before the sockets are looked at again.
constexpr int kRoundsMax = 16;
/// Packets that are opened before the core hears of them: about one piece of the kernel's, so
/// that their bytes are still in the cache when they come to their places.
constexpr std::size_t kTogether = 64;
/// Calls in a turn: with one flow they bring at most as many packets as one call.
constexpr int kFlowRoundsMax = 16;

std::optional<LinkEnd> sender_of(const std::optional<seal::Opened>& packet) {
    return packet ? std::optional{LinkEnd{.peer = packet->header.rank,
                                          .flow = packet->header.flow}}
                  : std::nullopt;
}

}  // namespace

Session::Session(SessionParts parts)
    : parts_{parts}, room_{[this](const wire::Header& header, std::size_t bytes) {
          return room_for(header, bytes);
      }} {
}

Waits Session::turn(Instant now, Readable found) {
    found.stream =
        stream_ == StreamWait::gathers || (stream_ == StreamWait::wakes && found.stream);
    receive(now, found);
    hear_disk(now);
    if (const auto deadline = parts_.core.deadline(); deadline && *deadline <= now) {
        parts_.core.on_time(now);
    }
    hear_links(now);
    operate(now);
    send(now);
    tell(now);
    is_over_ = has_ended(now);
    const Waits waits = this->waits(now);
    stream_ = waits.stream;
    return waits;
}

bool Session::has_core_ended() const {
    const core::Phase phase = parts_.core.outcome().phase;
    return phase == core::Phase::released || phase == core::Phase::failed ||
           phase == core::Phase::handed_over;
}

/// A driver that takes nothing any more does not keep the session from its end.
bool Session::has_ended(Instant now) {
    if (!has_core_ended() || parts_.core.deadline()) {
        return false;
    }
    ended_at_ = ended_at_.value_or(now);
    return parts_.outbox.is_empty() || given_up_ || now - *ended_at_ >= kLastSendsMax;
}

/// What became of the driver's connections, before and after packets were sent by them.
void Session::hear_links(Instant now) {
    links_.clear();
    parts_.driver.take_links(links_);
    if (!links_.empty()) {
        parts_.core.on_links(now, links_);
        operate(now);
    }
}

void Session::hear_disk(Instant now) {
    const auto completions = parts_.disk.take();
    for (const core::Completion& done : completions) {
        const bool loaded = done.kind == core::OperationKind::load;
        if (loaded && done.verdict == core::Verdict::good) {
            parts_.blocks.set_extent(done.block, done.descriptor.wire_length);
        }
    }
    if (!completions.empty()) {
        parts_.core.on_done(now, completions);
    }
    if (parts_.disk.is_waiting()) {
        parts_.core.on_disk_waiting(now);
    }
}

void Session::receive(Instant now, Readable readable) {
    packets_.clear();
    if (auto received = parts_.driver.receive(packets_, readable); !received) {
        give_up(now, received.error());
        return;
    }
    if (readable.stream) {
        moderation_.on_heard(now,
                             static_cast<std::size_t>(
                                 std::ranges::count_if(packets_, &ReceivedPacket::to_group)));
    }
    shift_ = packets_.empty() && parts_.flows == nullptr ? Duration{} : parts_.stamp_shift();
    for (std::size_t at = 0; at < packets_.size(); at += kTogether) {
        const std::size_t count = std::min(kTogether, packets_.size() - at);
        hear(now, std::span{packets_}.subspan(at, count));
    }
    if (parts_.flows != nullptr && !given_up_ && !stream_waits(now)) {
        hear_flows(now);
    }
}

/// The core has no room for it, and will have soon.
bool Session::stream_waits(Instant now) const {
    return now < parts_.core.outcome().stream_may_wait_until;
}

/// Opens some packets and has the core do with them what it wants, leases included.
void Session::hear(Instant now, std::span<const ReceivedPacket> packets) {
    datagrams_.clear();
    payloads_.clear();
    for (const ReceivedPacket& packet : packets) {
        const auto opened = parts_.seal.open(packet.bytes, room_);
        if (packet.unproved != 0 && !parts_.driver.prove(packet.unproved, sender_of(opened))) {
            continue;
        }
        if (!opened) {
            continue;
        }
        datagrams_.push_back(datagram_of(now, *opened, packet.to_group, packet.stamp_ns));
        const bool was_opened_apart =
            opened->body.data() != packet.bytes.data() + wire::kHeaderBytes;
        if (opened->header.is_data() && was_opened_apart) {
            parts_.blocks.keep_opened(opened->header.block, offset_of(opened->header.chunk));
        }
    }
    tell_heard(now);
}

/// Passes on what the flows' threads have opened. Their buffers stay until more is taken.
void Session::hear_flows(Instant now) {
    const Duration wall = now.time_since_epoch() - shift_;
    for (int round = 0; round < kFlowRoundsMax; ++round) {
        flow_packets_.clear();
        if (Status taken = parts_.flows->take(flow_packets_, kTogether, wall); !taken) {
            give_up(now, taken.error());
            return;
        }
        if (flow_packets_.empty()) {
            return;
        }
        hear_flow_packets(now);
    }
}

void Session::hear_flow_packets(Instant now) {
    datagrams_.clear();
    payloads_.clear();
    for (const FlowPacket& packet : flow_packets_) {
        if (parts_.seal.admit(packet.opened.header)) {
            datagrams_.push_back(datagram_of(now, packet.opened, true, packet.stamp_ns));
        }
    }
    tell_heard(now);
}

void Session::tell_heard(Instant now) {
    if (!datagrams_.empty()) {
        parts_.core.on_datagrams(now, datagrams_);
        operate(now);
    }
}

core::Datagram Session::datagram_of(Instant now,
                                    const seal::Opened& opened,
                                    bool to_group,
                                    std::int64_t stamp_ns) {
    const DriverCounters& counters = parts_.driver.counters();
    core::Datagram datagram;
    datagram.header = opened.header;
    datagram.to_group = to_group;
    datagram.body_bytes = static_cast<std::uint32_t>(opened.body.size());
    datagram.arrived_at = stamp_ns > 0 ? Instant{Duration{stamp_ns} + shift_} : now;
    datagram.overflow = overflow(to_group);
    datagram.fill = parts_.flows != nullptr ? parts_.flows->fill() : counters.group_fill;
    if (!opened.header.is_data()) {
        datagram.body = opened.body;
        return datagram;
    }
    payloads_.push_back(opened.body);
    datagram.lease = core::Ticket{payloads_.size()};
    return datagram;
}

/// The driver's count goes on from one session to the next, and what was dropped between them
/// is in it once a packet of the group has arrived.
std::uint32_t Session::overflow(bool to_group) {
    const std::uint64_t all = parts_.driver.counters().socket_overflow +
                              (parts_.flows != nullptr ? parts_.flows->overflow() : 0);
    if (to_group) {
        overflow_before_ = overflow_before_.value_or(all);
    }
    return static_cast<std::uint32_t>(all - overflow_before_.value_or(all));
}

std::size_t Session::offset_of(ChunkIndex chunk) const {
    return chunk.index() * std::size_t{parts_.core.outcome().chunk_bytes};
}

/// Where a DATA payload belongs, if it can be opened there. It has no more bytes than a chunk:
/// what lies behind may count already.
MutableBytes Session::room_for(const wire::Header& header, std::size_t bytes) {
    return bytes <= parts_.core.outcome().chunk_bytes
               ? parts_.blocks.opening_room(header.block, offset_of(header.chunk), bytes)
               : MutableBytes{};
}

void Session::operate(Instant now) {
    for (int round = 0; round < kRoundsMax; ++round) {
        operations_.operations.clear();
        parts_.core.next_operations(now, operations_);
        if (operations_.operations.empty()) {
            return;
        }
        for (const core::Operation& operation : operations_.operations) {
            perform(operation);
        }
        if (parts_.blocks.take_sparing_ended()) {
            core::Completion ended;
            ended.kind = core::OperationKind::place;
            ended.verdict = core::Verdict::failed;
            done_at_once_.push_back(std::move(ended));
        }
        if (!done_at_once_.empty()) {
            parts_.core.on_done(now, done_at_once_);
            done_at_once_.clear();
        }
    }
}

void Session::perform(const core::Operation& operation) {
    switch (operation.kind) {
        case core::OperationKind::place:
            place(operation);
            return;
        case core::OperationKind::drop:
            return;
        case core::OperationKind::release:
            release(operation.block);
            return;
        case core::OperationKind::encode:
            stay(operation.block);
            return encode_parities(*operation.code, operation.block, parts_.blocks);
        case core::OperationKind::reconstruct:
            return reconstruct(*operation.code, operation.block, parts_.blocks);
        case core::OperationKind::connect:
            return parts_.driver.connect({.peer = operation.peer, .flow = operation.flow});
        case core::OperationKind::hang_up:
            return parts_.driver.hang_up({.peer = operation.peer, .flow = operation.flow});
        case core::OperationKind::finish:
            return submit(operation, {});
        case core::OperationKind::load:
        case core::OperationKind::verify:
        case core::OperationKind::store:
            use_disk(operation);
            return;
    }
}

void Session::use_disk(const core::Operation& operation) {
    stay(operation.block);
    submit(operation, parts_.blocks.acquire(operation.block));
}

void Session::submit(const core::Operation& operation, MutableBytes buffer) {
    if (auto done = parts_.disk.submit(operation, buffer)) {
        done_at_once_.push_back(*std::move(done));
    }
}

void Session::place(const core::Operation& operation) {
    const std::size_t lease = operation.ticket.index();
    invariant(lease >= 1 && lease <= payloads_.size(), "a lease is one of these packets'");
    const std::size_t offset = offset_of(operation.chunk);
    stay(operation.block);
    // A chunk that would lie beyond its block is a broken member's: verify will refuse the
    // block.
    static_cast<void>(parts_.blocks.place(operation.block, offset, payloads_[lease - 1]));
}

/// A block that a queued train is still to be cut from keeps its buffer until the train left.
/// If too many do, the train is lost.
void Session::release(BlockIndex block) {
    if (leaving_.size() < kLeavingBlocks && parts_.outbox.needs(block)) {
        leaving_.insert(block);
        return;
    }
    parts_.outbox.drop_data(block);
    parts_.blocks.release(block);
}

/// The core wants it again. Asked for each packet, and nearly always none is leaving.
void Session::stay(BlockIndex block) {
    if (!leaving_.empty()) {
        leaving_.erase(block);
    }
}

void Session::release_left() {
    std::erase_if(leaving_, [this](BlockIndex block) {
        const bool has_left = !parts_.outbox.needs(block);
        if (has_left) {
            parts_.blocks.release(block);
        }
        return has_left;
    });
}

/// Once the core has ended no member needs DATA any more.
void Session::send(Instant now) {
    for (int round = 0; round < kRoundsMax; ++round) {
        if (has_core_ended()) {
            parts_.outbox.drop_data();
        }
        if (auto flushed = parts_.outbox.flush(now); !flushed) {
            give_up(now, flushed.error());
            return;
        }
        release_left();
        if (!parts_.outbox.has_room()) {
            return;
        }
        hear_links(now);
        parts_.core.next_sends(now, sends_);
        if (sends_.sends.empty()) {
            return;
        }
        parts_.outbox.add(std::move(sends_), parts_.core.outcome().chunk_bytes);
        sends_ = {};
    }
}

/// Reports a failed network to the core, once; then nothing can be sent any more.
void Session::give_up(Instant now, const Error& why) {
    if (!given_up_) {
        given_up_ = true;
        parts_.core.on_abort(now, why);
    }
}

void Session::tell(Instant now) {
    const core::Outcome& outcome = parts_.core.outcome();
    if (outcome.phase != reported_phase_ || now - reported_at_ >= kTellEvery) {
        reported_phase_ = outcome.phase;
        reported_at_ = now;
        parts_.watcher.on_progress(outcome);
    }
}

/// How long the stream's packets may stay where they are: for room, or, while it goes and all
/// of them were read, for each other. (After a wait for room many have gathered.)
Duration Session::wait_max(Instant now) const {
    if (stream_waits(now)) {
        return parts_.core.outcome().stream_may_wait_until - now;
    }
    const bool gathers = parts_.core.outcome().phase == core::Phase::moving &&
                         parts_.driver.counters().group_fill == 0 &&
                         stream_ != StreamWait::stays;
    return gathers ? moderation_.wait_max() : Duration::zero();
}

Waits Session::waits(Instant now) const {
    const bool stays = stream_waits(now);
    const Duration gathers = wait_max(now);
    Duration left = gathers > Duration::zero() ? gathers : kWaitMax;
    if (const auto deadline = parts_.core.deadline()) {
        left = std::clamp<Duration>(*deadline - now, Duration::zero(), left);
    }
    left = parts_.outbox.has_room() ? left : std::max(left, kRefusedWait);
    if (parts_.flows != nullptr && !stays) {
        left = std::min(left, parts_.flows->wait_max().value_or(left));
    }
    const StreamWait stream = stays                        ? StreamWait::stays
                              : gathers > Duration::zero() ? StreamWait::gathers
                                                           : StreamWait::wakes;
    return {.until = now + left, .stream = stream, .outlets = parts_.outbox.full_outlets()};
}

void Session::hear_watcher(Instant now) {
    if (auto heard = parts_.watcher.on_readable(); !heard) {
        parts_.core.on_abort(now, heard.error());
    } else if (parts_.watcher.do_all_listen() && !std::exchange(all_listen_, true)) {
        parts_.core.on_all_listen(now);
    }
}

}  // namespace stage
