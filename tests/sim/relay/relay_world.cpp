#include "tests/sim/relay/relay_world.h"

#include "transport/base/invariant.h"
#include "transport/core/base/object_shape.h"
#include "transport/wire/packet.h"

#include <algorithm>

namespace stage::sim {
namespace {

constexpr std::uint64_t kSocketBytes = 256U << 10U;
/// The queue of a receiver's link: a sender that finds it full waits, as TCP does.
constexpr Duration kQueue = std::chrono::milliseconds{20};
constexpr Duration kLook = std::chrono::milliseconds{1};
/// From a connection to the end of one whose path drops its first segment.
constexpr Duration kProbeTime = std::chrono::milliseconds{500};
/// A frame's bytes beside its payload: header, tag, a share of TCP, IP and Ethernet per 1,448
/// bytes.
constexpr std::uint64_t kPacketBytes = 28;

LinkEvent event_of(std::pair<std::uint32_t, std::uint8_t> peer,
                   LinkEvent::Kind kind,
                   Duration round_trip = {}) {
    return {.peer = Rank{static_cast<std::uint16_t>(peer.first)},
            .flow = Flow{peer.second},
            .kind = kind,
            .round_trip = round_trip};
}

std::uint64_t wire_bytes(std::uint64_t bytes) {
    return bytes + (bytes + 1447) / 1448 * 90;
}

}  // namespace

struct RelayWorld::Connection {
    std::uint64_t id = 0;
    std::deque<core::Send> queue;  ///< One packet each.
    std::uint64_t queued_bytes = 0;
    bool must_report_ready = false;
    bool is_mute = false;  ///< The path drops what is sent here.
    bool stands = true;    ///< The peer has answered.

    [[nodiscard]] bool can_carry() const { return !is_mute && stands; }
    [[nodiscard]] bool can_send() const { return !queue.empty() && can_carry(); }
};

struct RelayWorld::Host {
    std::uint32_t rank = 0;
    std::unique_ptr<core::Core> core;
    std::map<Peer, Connection> out;
    Peer next_peer{};
    Instant link_free{};
    Instant down_free{};
    Instant disk_free{};
    bool is_sending = false;
    bool is_waiting = false;  ///< For room in the queue of a receiver's link.
    bool is_crashed = false;
    bool is_leaving = false;  ///< Its core is over.
    Instant stopped_until{};
    std::uint64_t sent_bytes = 0;
    std::uint32_t connected = 0;
    std::uint32_t narrowings = 0;
    std::vector<LinkEvent> links;
    std::vector<std::pair<std::uint32_t, core::Send>> inbox;
    std::vector<core::Completion> completions;
    std::deque<std::pair<core::Operation, core::Verdict>> at_disk;  ///< In order of their ends.
    std::map<BlockIndex, std::vector<std::uint32_t>> buffers;       ///< A chunk is its tag.
    std::vector<bool> stored;                                       ///< By block.
    std::uint32_t waiting = 0;  ///< Operations that wait for another session.
    bool was_damaged = false;
    std::optional<Instant> woken_for;
};

RelayWorld::RelayWorld(const RelayPlan& plan)
    : plan_{plan},
      blocks_{static_cast<std::uint32_t>((plan.object_bytes + kBlockBytes - 1) / kBlockBytes)} {
    for (std::uint32_t rank = 0; rank < plan.members; ++rank) {
        core::CoreConfig config;
        config.own = Rank{static_cast<std::uint16_t>(rank)};
        config.members = static_cast<std::uint16_t>(plan.members);
        config.source = Rank{0};
        config.chunk_bytes = plan.chunk_bytes;
        config.resident_blocks = 24;
        config.stall_timeout = plan.stall_timeout;
        config.ready_timeout = std::max<Duration>(plan.stall_timeout, std::chrono::seconds{10});
        config.holds_already = plan.holders.contains(rank);
        config.drops_failed = plan.drops_failed;
        if (const auto held = plan.held_before.find(rank); held != plan.held_before.end()) {
            config.held_before = held->second;
        }
        auto host = std::make_unique<Host>();
        host->rank = rank;
        host->stored.resize(blocks_);
        if (rank == 0) {
            host->core = std::make_unique<core::RelaySource>(
                config,
                core::ObjectShape{.blocks = blocks_, .object_bytes = plan.object_bytes},
                plan.relay);
        } else {
            host->core = std::make_unique<core::RelayReceiver>(config, plan.relay);
        }
        hosts_.push_back(std::move(host));
    }
    for (auto& host : hosts_) {
        const auto start = plan.starts.find(host->rank);
        const Duration at = start != plan.starts.end() ? start->second : Duration{};
        host->stopped_until = now_ + at;
        after(at, [this, &host = *host] { turn(host); });
    }
    for (const auto& [rank, at] : plan.crashes) {
        after(at, [this, &host = *hosts_[rank]] { crash(host); });
    }
    for (const auto& [rank, at] : plan.cuts) {
        after(at, [this, &host = *hosts_[rank]] { cut(host); });
    }
    for (const auto& [rank, pause] : plan.stops) {
        after(pause.from, [this, &host = *hosts_[rank], pause] {
            host.stopped_until =
                std::max(host.stopped_until, now_ + (pause.until - pause.from));
            after(pause.until - pause.from, [this, &host] { turn(host); });
        });
    }
}

RelayWorld::~RelayWorld() = default;

void RelayWorld::after(Duration delay, std::function<void()> what) {
    events_.push({.at = now_ + delay, .order = order_++, .what = std::move(what)});
}

void RelayWorld::run(Duration limit) {
    const Instant end = now_ + limit;
    while (!events_.empty() && events_.top().at <= end) {
        Event event = std::move(const_cast<Event&>(events_.top()));
        events_.pop();
        now_ = event.at;
        event.what();
        if (std::ranges::all_of(hosts_, [this](const auto& host) {
                return host->is_crashed || is_over(host->rank);
            })) {
            return;
        }
    }
}

bool RelayWorld::is_over(std::uint32_t rank) const {
    const auto& core = *hosts_[rank]->core;
    const auto phase = core.outcome().phase;
    return (phase == core::Phase::released || phase == core::Phase::failed) && !core.deadline();
}

const core::Outcome& RelayWorld::outcome(std::uint32_t rank) const {
    return hosts_[rank]->core->outcome();
}

std::optional<Duration> RelayWorld::last_held() const {
    Instant last{};
    for (const auto& host : hosts_) {
        if (host->is_crashed) {
            continue;
        }
        const auto at = host->core->outcome().held_at;
        if (!at) {
            return std::nullopt;
        }
        last = std::max(last, *at);
    }
    return last - Instant{std::chrono::seconds{1}};
}

Duration RelayWorld::wire_time() const {
    const std::uint64_t chunks =
        (plan_.object_bytes + plan_.chunk_bytes - 1) / plan_.chunk_bytes;
    return time_of(wire_bytes(plan_.object_bytes + chunks * kPacketBytes), plan_.bytes_per_s);
}

std::uint64_t RelayWorld::bytes_sent(std::uint32_t rank) const {
    return hosts_[rank]->sent_bytes;
}

std::uint32_t RelayWorld::times_connected(std::uint32_t rank) const {
    return hosts_[rank]->connected;
}

std::uint32_t RelayWorld::length(BlockIndex block) const {
    return block.value() + 1 < blocks_
               ? kBlockBytes
               : static_cast<std::uint32_t>(plan_.object_bytes -
                                            std::uint64_t{kBlockBytes} * (blocks_ - 1));
}

wire::Descriptor RelayWorld::descriptor(BlockIndex block) const {
    return {.length = length(block), .wire_length = length(block)};
}

std::uint64_t RelayWorld::rate(std::uint32_t rank) const {
    const auto slow = plan_.slow_links.find(rank);
    return slow != plan_.slow_links.end() ? slow->second : plan_.bytes_per_s;
}

// ---- a host's turn

void RelayWorld::turn(Host& host) {
    if (host.is_crashed || now_ < host.stopped_until) {
        return;
    }
    auto& core = *host.core;
    if (!host.links.empty()) {
        const auto links = std::exchange(host.links, {});
        core.on_links(now_, links);
        operate(host);
    }
    std::swap(read_, host.inbox);
    for (const auto& [from, packet] : read_) {
        deliver(host, from, packet);
    }
    read_.clear();
    if (!host.completions.empty()) {
        const auto completions = std::exchange(host.completions, {});
        core.on_done(now_, completions);
        operate(host);
    }
    if (host.waiting > 0 && host.at_disk.empty()) {
        core.on_disk_waiting(now_);
    }
    if (const auto deadline = core.deadline(); deadline && *deadline <= now_) {
        core.on_time(now_);
    }
    operate(host);
    send_all(host);
    operate(host);
    if (host.rank == 0 && core.outcome().phase > core::Phase::holding && reached_.empty()) {
        note_reached(0);
    }
    if (is_over(host.rank) && !std::exchange(host.is_leaving, true)) {
        leave(host);
    }
    const auto deadline = core.deadline();
    if (!host.links.empty() || (deadline && *deadline <= now_ && *deadline > Instant{})) {
        after(Duration{1000}, [this, &host] { turn(host); });
    } else if (deadline && *deadline > now_ && host.woken_for != deadline) {
        host.woken_for = deadline;
        after(*deadline - now_, [this, &host] { turn(host); });
    }
}

/// The members that a packet from there would reach, passed on from one to the next.
void RelayWorld::note_reached(std::uint32_t rank) {
    if (!reached_.insert(rank).second) {
        return;
    }
    for (const auto& [peer, connection] : hosts_[rank]->out) {
        const auto& ends = hosts_[peer.first]->out;
        const auto end = ends.find({rank, peer.second});
        if (connection.can_carry() && end != ends.end() && end->second.stands) {
            note_reached(peer.first);
        }
    }
}

void RelayWorld::deliver(Host& host, std::uint32_t from, const core::Send& packet) {
    core::Datagram datagram;
    datagram.header.type = packet.type;
    datagram.header.flags = packet.flags;
    datagram.header.rank = Rank{static_cast<std::uint16_t>(from)};
    datagram.header.flow = packet.to.flow;
    datagram.header.packet_number = packet.packet_number;
    datagram.header.block = packet.block;
    datagram.header.chunk = packet.first;
    datagram.arrived_at = now_;
    if (packet.type == wire::PacketType::data) {
        const core::Cut cut{plan_.chunk_bytes};
        datagram.body_bytes = cut.length(length(packet.block), packet.first.value());
        datagram.lease = core::Ticket{packet.length + std::uint64_t{1}};
    } else {
        datagram.body = packet.body;
        datagram.body_bytes = static_cast<std::uint16_t>(packet.body.size());
    }
    host.core->on_datagrams(now_, std::span{&datagram, 1});
    operate(host);
}

void RelayWorld::operate(Host& host) {
    for (int round = 0; round < 64; ++round) {
        core::OperationBatch batch;
        host.core->next_operations(now_, batch);
        if (batch.operations.empty()) {
            return;
        }
        for (const core::Operation& operation : batch.operations) {
            perform(host, operation);
        }
    }
}

void RelayWorld::complete(Host& host) {
    const auto [operation, verdict] = host.at_disk.front();
    host.at_disk.pop_front();
    core::Completion done;
    done.ticket = operation.ticket;
    done.kind = operation.kind;
    done.block = operation.block;
    done.verdict = verdict;
    if (verdict == core::Verdict::failed) {
        done.why = Error{Blame::user, "No space left on device"};
    }
    if (operation.kind == core::OperationKind::load) {
        done.descriptor = descriptor(operation.block);
    }
    host.completions.push_back(done);
    turn(host);
}

/// When another session lets the host do this.
Instant RelayWorld::possible_at(const Host& host, const core::Operation& operation) const {
    if (operation.kind == core::OperationKind::load && host.rank == 0) {
        return Instant{plan_.leg.arrival(operation.block.value())};
    }
    const auto chained = plan_.chained.find(host.rank);
    const bool waits =
        operation.kind == core::OperationKind::finish && chained != plan_.chained.end();
    return waits ? Instant{chained->second} : now_;
}

void RelayWorld::perform(Host& host, const core::Operation& operation) {
    using core::OperationKind;
    using core::Verdict;
    if (const Instant at = possible_at(host, operation); at > now_) {
        ++host.waiting;
        after(at - now_, [this, &host, operation] {
            --host.waiting;
            perform(host, operation);
        });
        return;
    }
    const auto slow = plan_.slow_disks.find(host.rank);
    const std::uint64_t disk =
        slow != plan_.slow_disks.end() ? slow->second : plan_.disk_bytes_per_s;
    const core::Cut cut{plan_.chunk_bytes};
    const std::uint32_t chunks = cut.chunks(length(operation.block));
    Verdict verdict = Verdict::good;
    std::uint64_t disk_bytes = 0;
    switch (operation.kind) {
        case OperationKind::place: {
            auto& buffer = host.buffers[operation.block];
            buffer.resize(chunks, ~0U);
            buffer[operation.chunk.index()] =
                static_cast<std::uint32_t>(operation.ticket.value() - 1);
            if (host.buffers.size() > 24) {
                faults_.push_back("too many blocks are resident");
            }
            if (plan_.damaged && plan_.damaged->first == host.rank &&
                plan_.damaged->second == operation.block.value() && !host.was_damaged) {
                host.was_damaged = true;
                buffer[operation.chunk.index()] = ~0U;
            }
            return;
        }
        case OperationKind::release:
            host.buffers.erase(operation.block);
            return;
        case OperationKind::connect:
            return connect(host, {operation.peer.value(), operation.flow.value()});
        case OperationKind::hang_up:
            return close(
                host.rank, {operation.peer.value(), operation.flow.value()}, std::nullopt);
        case OperationKind::verify: {
            const auto& buffer = host.buffers[operation.block];
            for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
                if (buffer.size() <= chunk || buffer[chunk] != chunk) {
                    verdict = Verdict::bad_digest;
                }
            }
            break;
        }
        case OperationKind::store:
            if (plan_.refused_store && plan_.refused_store->first == host.rank &&
                plan_.refused_store->second == operation.block.value()) {
                verdict = Verdict::failed;
            }
            if (host.stored[operation.block.value()]) {
                faults_.push_back("a block is stored twice");
            }
            host.stored[operation.block.value()] = true;
            disk_bytes = operation.descriptor.length;
            break;
        case OperationKind::load: {
            auto& buffer = host.buffers[operation.block];
            buffer.resize(chunks);
            for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
                buffer[chunk] = chunk;
            }
            disk_bytes = length(operation.block);
            break;
        }
        case OperationKind::finish:
            if (host.rank != 0 && !plan_.holders.contains(host.rank)) {
                std::uint32_t before = 0;
                for (const auto& run : plan_.held_before[host.rank]) {
                    before += run.count;
                }
                const auto stored = std::ranges::count(host.stored, true);
                if (static_cast<std::uint64_t>(stored) + before != blocks_) {
                    faults_.push_back("finished without every block");
                }
            }
            break;
        default:
            return;
    }
    host.disk_free = std::max(host.disk_free, now_) + time_of(disk_bytes, disk);
    if (const auto slow_finish = plan_.slow_finishes.find(host.rank);
        operation.kind == OperationKind::finish && slow_finish != plan_.slow_finishes.end()) {
        host.disk_free += slow_finish->second;
    }
    host.at_disk.emplace_back(operation, verdict);
    after(host.disk_free - now_, [this, &host] { complete(host); });
}

void RelayWorld::send_all(Host& host) {
    for (int round = 0; round < 64; ++round) {
        core::SendBatch batch;
        host.core->next_sends(now_, batch);
        if (batch.sends.empty()) {
            return;
        }
        for (const core::Send& send : batch.sends) {
            queue(host, send);
        }
        if (!host.links.empty()) {
            host.core->on_links(now_, std::exchange(host.links, {}));
            operate(host);
        }
    }
}

void RelayWorld::connect(Host& from, Peer to) {
    Host& peer = *hosts_[to.first];
    ++from.connected;
    const auto firewall = plan_.firewalls.find(to.first);
    if (firewall != plan_.firewalls.end() && firewall->second == RelayPlan::Firewall::drops) {
        return;
    }
    if (peer.is_crashed || is_over(to.first) || firewall != plan_.firewalls.end()) {
        from.links.push_back(event_of(to, LinkEvent::Kind::closed));
    } else if (!from.out.contains(to)) {
        const std::uint64_t id = ++connections_;
        const bool is_mute = from.narrowings < plan_.narrow_paths[from.rank];
        from.out[to] = Connection{.id = id, .queue = {}, .stands = false};
        after(2 * plan_.delay, [this, &from, to, id] { stand(from, to, id); });
        peer.out[{from.rank, to.second}] =
            Connection{.id = id, .queue = {}, .is_mute = is_mute};
        if (const auto flaps = plan_.flapping.find(from.rank); flaps != plan_.flapping.end()) {
            after(flaps->second, [this, &from, to, id] { flap(from, to, id); });
        }
        if (is_mute) {
            after(kProbeTime, [this, &from, to, id, narrowings = from.narrowings] {
                narrow(from, to, id, narrowings);
            });
        }
    }
}

/// The peer gives a connection up by which nothing of its arrived.
void RelayWorld::narrow(Host& host,
                        Peer peer,
                        std::uint64_t connection,
                        std::uint32_t narrowings) {
    const auto found = host.out.find(peer);
    if (found != host.out.end() && found->second.id == connection) {
        host.narrowings = std::max(host.narrowings, narrowings + 1);
        close(host.rank, peer, LinkEvent::Kind::narrowed);
    }
}

void RelayWorld::queue(Host& from, const core::Send& send) {
    const Peer to{send.to.peer.value(), send.to.flow.value()};
    if (!from.out.contains(to)) {
        return;
    }
    Connection& connection = from.out[to];
    for (std::uint16_t i = 0; i < send.count; ++i) {
        core::Send packet = send;
        packet.count = 1;
        packet.packet_number = send.packet_number + i;
        packet.first = ChunkIndex{static_cast<std::uint16_t>(send.first.value() + i)};
        packet.length = packet.first.value();
        std::uint64_t bytes = send.body.size() + kPacketBytes;
        if (send.type == wire::PacketType::data) {
            const auto& buffer = from.buffers[send.block];
            if (buffer.size() <= packet.first.index()) {
                faults_.push_back("a chunk was sent of a block that is not resident");
            } else {
                packet.length = static_cast<std::uint16_t>(buffer[packet.first.index()]);
            }
            bytes +=
                core::Cut{plan_.chunk_bytes}.length(length(send.block), packet.first.value());
        }
        connection.queued_bytes += bytes;
        connection.queue.push_back(std::move(packet));
    }
    connection.must_report_ready = true;
    if (connection.queued_bytes <= kSocketBytes && connection.stands) {
        connection.must_report_ready = false;
        from.links.push_back(event_of(to, LinkEvent::Kind::ready, 2 * plan_.delay));
    }
    if (!from.is_sending) {
        transmit(from);
    }
}

/// The next packet of the next connection that has one leaves the host.
void RelayWorld::transmit(Host& host) {
    host.is_sending = false;
    if (host.is_crashed) {
        return;
    }
    const auto can_send = [this](const auto& each) {
        return each.second.can_send() &&
               hosts_[each.first.first]->down_free <= now_ + plan_.delay + kQueue;
    };
    auto next = host.out.lower_bound(host.next_peer);
    for (std::size_t tried = 0; tried <= host.out.size(); ++tried) {
        if (next == host.out.end()) {
            next = host.out.begin();
        }
        if (next == host.out.end() || can_send(*next)) {
            break;
        }
        ++next;
    }
    if (next == host.out.end() || !can_send(*next)) {
        const bool wants = std::ranges::any_of(
            host.out, [](const auto& each) { return each.second.can_send(); });
        if (wants && !std::exchange(host.is_waiting, true)) {
            after(kLook, [this, &host] { look_again(host); });
        }
        return;
    }
    const Peer by = next->first;
    const std::uint32_t to = by.first;
    Connection& connection = next->second;
    host.next_peer = {to, static_cast<std::uint8_t>(by.second + 1)};
    core::Send packet = std::move(connection.queue.front());
    connection.queue.pop_front();
    std::uint64_t bytes = packet.body.size() + kPacketBytes;
    if (packet.type == wire::PacketType::data) {
        bytes +=
            core::Cut{plan_.chunk_bytes}.length(length(packet.block), packet.first.value());
    }
    connection.queued_bytes -= bytes;
    host.sent_bytes += bytes;
    const auto slow = plan_.slow_uplinks.find(host.rank);
    const Duration takes = time_of(
        wire_bytes(bytes), slow != plan_.slow_uplinks.end() ? slow->second : rate(host.rank));
    host.is_sending = true;
    if (connection.must_report_ready && connection.queued_bytes <= kSocketBytes) {
        connection.must_report_ready = false;
        host.links.push_back(event_of(by, LinkEvent::Kind::ready, 2 * plan_.delay));
        after({}, [this, &host] { turn(host); });
    }
    Host& peer = *hosts_[to];
    const Instant here = now_ + takes + plan_.delay;
    const Duration down = time_of(wire_bytes(bytes), rate(to));
    peer.down_free =
        std::max(peer.down_free + down, here + (down > takes ? down - takes : Duration{}));
    const std::uint32_t flight = take_off(
        {.from = host.rank, .to = to, .id = connection.id, .packet = std::move(packet)});
    after(peer.down_free - now_ + plan_.wake_up, [this, flight] { arrive(flight); });
    after(takes, [this, &host] { transmit(host); });
}

void RelayWorld::look_again(Host& host) {
    host.is_waiting = false;
    if (!host.is_sending) {
        transmit(host);
    }
}

std::uint32_t RelayWorld::take_off(Flight flight) {
    if (landed_.empty()) {
        landed_.push_back(static_cast<std::uint32_t>(flights_.size()));
        flights_.emplace_back();
    }
    const std::uint32_t place = landed_.back();
    landed_.pop_back();
    flights_[place] = std::move(flight);
    return place;
}

void RelayWorld::arrive(std::uint32_t flight) {
    auto [from, to, id, packet] = std::move(flights_[flight]);
    landed_.push_back(flight);
    Host& host = *hosts_[to];
    const auto connection = host.out.find({from, packet.to.flow.value()});
    const bool is_lost = packet.type == wire::PacketType::data && plan_.flapping.contains(to);
    if (host.is_crashed || connection == host.out.end() || connection->second.id != id ||
        is_lost) {
        return;
    }
    host.inbox.emplace_back(from, std::move(packet));
    turn(host);
}

/// The connection ends at both ends. `reported`: what `from` hears of it.
void RelayWorld::close(std::uint32_t from, Peer to, std::optional<LinkEvent::Kind> reported) {
    for (const auto& [one, other] : {std::pair{from, to.first}, std::pair{to.first, from}}) {
        Host& host = *hosts_[one];
        const Peer by{other, to.second};
        if (host.out.erase(by) == 0 || host.is_crashed || (one == from && !reported)) {
            continue;
        }
        host.links.push_back(event_of(by, one == from ? *reported : LinkEvent::Kind::closed));
        after(plan_.delay, [this, &host] { turn(host); });
    }
}

void RelayWorld::stand(Host& host, Peer peer, std::uint64_t connection) {
    const auto found = host.out.find(peer);
    if (found != host.out.end() && found->second.id == connection) {
        found->second.stands = true;
        look_again(host);
    }
}

void RelayWorld::flap(Host& host, Peer peer, std::uint64_t connection) {
    const auto found = host.out.find(peer);
    if (found != host.out.end() && found->second.id == connection) {
        close(host.rank, peer, LinkEvent::Kind::closed);
    }
}

void RelayWorld::cut(Host& host) {
    if (!host.is_crashed) {
        hang_up_all(host);
    }
}

/// What it has sent arrives before its connections end.
void RelayWorld::leave(Host& host) {
    const bool sends =
        std::ranges::any_of(host.out, [](const auto& each) { return each.second.can_send(); });
    if (sends) {
        after(kLook, [this, &host] { leave(host); });
    } else {
        after(plan_.delay + 2 * kQueue, [this, &host] { hang_up_all(host); });
    }
}

void RelayWorld::hang_up_all(Host& host) {
    const auto out = host.out;
    for (const auto& [peer, connection] : out) {
        close(host.rank, peer, LinkEvent::Kind::closed);
    }
}

void RelayWorld::crash(Host& host) {
    host.is_crashed = true;
    const auto out = host.out;
    for (const auto& [peer, connection] : out) {
        close(peer.first, {host.rank, peer.second}, LinkEvent::Kind::closed);
    }
}

}  // namespace stage::sim
