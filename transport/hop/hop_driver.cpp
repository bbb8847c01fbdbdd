#include "transport/hop/hop_driver.h"

#include "transport/base/invariant.h"
#include "transport/base/random_value.h"
#include "transport/os/clock.h"
#include "transport/wire/packet.h"

#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace stage::hop {
namespace {

/// Marks the numbers of unproved hops: those of the TCP driver are small.
constexpr std::uint32_t kHopMark = 1U << 31U;
/// For one address. Its users are in the way of no other node.
constexpr std::size_t kUnprovedMax = 16;
/// A member sends its first packet at once.
constexpr Duration kUnprovedFor = std::chrono::seconds{10};
/// Calls to the socket in a turn: other hosts can send faster than the loop turns.
constexpr int kReceivesMax = 16;
/// An end whose turn was due so long ago was itself away.
constexpr Duration kAway = std::chrono::milliseconds{200};
/// Until this host has sent something of what fills the socket's buffer.
constexpr Duration kRefusedFor = std::chrono::milliseconds{1};
/// A hop with less to send takes more.
constexpr std::size_t kReadyBelow = std::size_t{128} << 10U;
/// Copies of the last datagrams of a hop, whose arrival is not awaited.
constexpr int kLastCopies = 3;

timespec to_timespec(Instant at) {
    const auto since = std::max(at.time_since_epoch(), Duration{1});
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
    return {.tv_sec = seconds.count(), .tv_nsec = (since - seconds).count()};
}

}  // namespace

HopDriver::HopDriver(HopEndpoints endpoints)
    : endpoints_{std::move(endpoints)},
      socket_{std::move(endpoints_.socket)},
      timer_{::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)},
      numbers_{random_value<ListenerNumbers::Secret>()},
      begun_at_{read_clock()} {
    invariant(timer_.get() >= 0 && endpoints_.tcp != nullptr, "a hop has a timer and TCP");
}

/// What was sent last, as DONE_ACK, is awaited at the other end, and will not be repeated.
HopDriver::~HopDriver() {
    const Instant now = read_clock();
    for (int copy = 0; copy < kLastCopies; ++copy) {
        for (auto& [number, hop] : hops_) {
            hop.link.end();
            flush(now, hop);
        }
    }
}

std::vector<int> HopDriver::descriptors() const {
    std::vector<int> all = endpoints_.tcp->descriptors();
    all.push_back(socket_.descriptor());
    all.push_back(timer_.get());
    return all;
}

const DriverCounters& HopDriver::counters() const {
    counters_ = own_counters_;
    counters_ += endpoints_.tcp->counters();
    return counters_;
}

std::uint32_t HopDriver::stamp(Instant now) const {
    return static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(now - begun_at_).count());
}

Status HopDriver::receive(std::vector<ReceivedPacket>& packets, Readable readable) {
    delivered_.clear();
    TRY(endpoints_.tcp->receive(packets, readable));
    const Instant now = read_clock();
    for (int call = 0; readable.peers && call < kReceivesMax; ++call) {
        const auto heard = [&](const Address& from, Bytes datagram) {
            hear(now, from, datagram);
        };
        if (socket_.receive(own_counters_, heard) < HopSocket::kBatch) {
            break;
        }
    }
    if (due_ && now > *due_ + kAway) {
        for (auto& [number, hop] : hops_) {
            hop.link.forgive(now, now - *due_);
        }
    }
    hear_tcp(now);
    look(now, packets);
    set_timer(read_clock());
    return {};
}

bool HopDriver::is_other_members(const Address& address) const {
    for (std::size_t rank = 0; rank < endpoints_.members.size(); ++rank) {
        if (rank != endpoints_.own.index() && endpoints_.members[rank].ip == address.ip) {
            return true;
        }
    }
    return false;
}

void HopDriver::hear(Instant now, const Address& from, Bytes datagram) {
    const auto head = read_head(datagram);
    if (!head || !is_other_members(from)) {
        return;
    }
    switch (head->kind) {
        case Kind::hello:
            return welcome(from, datagram);
        case Kind::welcome:
            return on_welcome(now, from, datagram);
        case Kind::confirm:
            return on_confirm(now, from, datagram);
        case Kind::piece:
        case Kind::ack:
        case Kind::bye:
            break;
    }
    const auto at = hops_.find(head->to);
    if (at != hops_.end() && at->second.address == from) {
        at->second.link.on_datagram(now, head->kind, datagram);
    }
}

/// Nothing is remembered of a HELLO.
void HopDriver::welcome(const Address& from, Bytes datagram) {
    if (const auto hello = read_hello(datagram)) {
        const auto answer = write_welcome({.dialler = hello->dialler,
                                           .stamp = hello->stamp,
                                           .listener = numbers_.of(from, hello->dialler)},
                                          datagram.size());
        socket_.send(own_counters_, from.to_socket(), answer, answer.size());
    }
}

/// UDP passes: the connection goes by it.
void HopDriver::on_welcome(Instant now, const Address& from, Bytes datagram) {
    const auto answer = read_welcome(datagram);
    const auto at = answer ? hops_.find(answer->dialler) : hops_.end();
    if (at == hops_.end() || !at->second.dial || at->second.address != from) {
        return;
    }
    Hop& hop = at->second;
    hop.dial.reset();
    is_used_ = true;
    endpoints_.tcp->hang_up(*hop.to);
    const std::chrono::microseconds took{stamp(now) - answer->stamp};
    hop.link.begin(now,
                   {.to = answer->listener,
                    .datagram_bytes = std::min(datagram.size(), kLongDatagram),
                    .round_trip = std::min<Duration>(took, HopDial::kLongest),
                    .is_dialler = true});
}

void HopDriver::on_confirm(Instant now, const Address& from, Bytes datagram) {
    const auto confirm = read_confirm(datagram);
    if (!confirm || hops_.contains(confirm->listener) ||
        confirm->listener != numbers_.of(from, confirm->dialler)) {
        return;
    }
    make_room(from);
    Hop& hop = hops_
                   .emplace(confirm->listener,
                            Hop{.link = {confirm->listener, endpoints_.rate_max},
                                .peer = from.to_socket(),
                                .address = from})
                   .first->second;
    hop.unproved = kHopMark | next_unproved_++;
    hop.begun_at = now;
    hop.link.begin(now,
                   {.to = confirm->dialler,
                    .datagram_bytes = confirm->datagram_bytes,
                    .round_trip = std::min<Duration>(
                        std::chrono::microseconds{confirm->round_trip_us}, HopDial::kLongest)});
}

/// Those that prove nothing are no members': the oldest of the same address goes.
void HopDriver::make_room(const Address& from) {
    std::size_t count = 0;
    auto oldest = hops_.end();
    for (auto at = hops_.begin(); at != hops_.end(); ++at) {
        const Hop& hop = at->second;
        if (!hop.to && hop.address.ip == from.ip) {
            ++count;
            oldest =
                oldest == hops_.end() || hop.unproved < oldest->second.unproved ? at : oldest;
        }
    }
    if (count >= kUnprovedMax) {
        hops_.erase(oldest);
    }
}

// ---- a connection that this member begins

void HopDriver::connect(LinkEnd to) {
    invariant(to.peer.index() < endpoints_.members.size(), "a peer is a member");
    if (by_end_.contains(to)) {
        return;
    }
    if (silent_.erase(to) > 0) {
        endpoints_.tcp->connect(to);
        return;
    }
    const Instant now = read_clock();
    const Address& address = endpoints_.members[to.peer.index()];
    const auto own = random_value<std::uint64_t>();
    by_end_[to] = own;
    hops_.emplace(own,
                  Hop{.link = {own, endpoints_.rate_max},
                      .peer = address.to_socket(),
                      .address = address,
                      .to = to,
                      .dial = HopDial{now}});
    endpoints_.tcp->connect(to);
    greet(now, hops_.at(own));
    set_timer(now);
}

void HopDriver::greet(Instant now, Hop& hop) {
    const Hello hello{.dialler = hop.link.own(), .stamp = stamp(now)};
    for (const std::size_t bytes : hop.dial->take_hellos(now)) {
        socket_.send(own_counters_, hop.peer, write_hello(hello, bytes), bytes);
    }
}

/// What became of TCP connections, where it is not yet decided which way a connection goes.
void HopDriver::hear_tcp(Instant now) {
    std::vector<LinkEvent> events;
    endpoints_.tcp->take_links(events);
    for (const LinkEvent& event : events) {
        const auto at = found({.peer = event.peer, .flow = event.flow});
        if (at == hops_.end()) {
            changes_.push_back(event);
        } else if (at->second.dial) {
            at->second.dial->on_tcp(now, event);
        }
    }
}

void HopDriver::go_by_tcp(Hops::iterator at) {
    const LinkEnd to = *at->second.to;
    const auto packets = at->second.link.take_back();
    hops_.erase(at);
    by_end_.erase(to);
    for (const auto& bytes : packets) {
        const Bytes packet = Bytes{bytes}.subspan(kOrderBytes);
        const std::array<Bytes, 1> pieces{packet};
        static_cast<void>(
            endpoints_.tcp->send({.target = {.peer = to.peer, .flow = to.flow},
                                  .pieces = pieces,
                                  .bytes = packet.size(),
                                  .packet_bytes = static_cast<std::uint32_t>(packet.size())}));
    }
}

// ---- what becomes due

void HopDriver::look(Instant now, std::vector<ReceivedPacket>& packets) {
    for (auto next = hops_.begin(); next != hops_.end();) {
        const auto at = next++;
        Hop& hop = at->second;
        if (hop.dial) {
            switch (hop.dial->way(now)) {
                case HopDial::Way::tcp:
                    go_by_tcp(at);
                    break;
                case HopDial::Way::none:
                    end(at, true);
                    break;
                case HopDial::Way::open:
                    greet(now, hop);
                    break;
            }
            continue;
        }
        hop.link.on_time(now);
        deliver(hop, packets);
        const bool is_idle = !hop.to && now >= hop.begun_at + kUnprovedFor;
        if (is_idle || hop.link.is_over(now)) {
            if (hop.to && hop.link.is_silent(now)) {
                silent_.insert(*hop.to);
            }
            end(at, true);
            continue;
        }
        flush(now, hop);
    }
}

void HopDriver::deliver(Hop& hop, std::vector<ReceivedPacket>& packets) {
    const std::size_t before = delivered_.size();
    hop.link.take(delivered_);
    for (auto& message : std::span{delivered_}.subspan(before)) {
        packets.push_back({.bytes = MutableBytes{message}.subspan(kOrderBytes),
                           .unproved = hop.to ? 0 : hop.unproved});
    }
}

void HopDriver::flush(Instant now, Hop& hop) {
    DatagramBatch batch{socket_, own_counters_, hop.peer};
    std::array<std::byte, kLongDatagram> one;
    while (!batch.is_refused()) {
        const std::size_t bytes = hop.link.next(now, one);
        if (bytes == 0) {
            break;
        }
        batch.add(Bytes{one}.first(bytes));
    }
    batch.leave();
    if (batch.is_refused()) {
        hop.link.pause(now + kRefusedFor);
    }
    report_ready(hop);
}

void HopDriver::report_ready(Hop& hop) {
    if (hop.to && hop.link.stands() && hop.link.backlog_bytes() < kReadyBelow &&
        std::exchange(hop.must_report_ready, false)) {
        changes_.push_back({.peer = hop.to->peer,
                            .flow = hop.to->flow,
                            .kind = LinkEvent::Kind::ready,
                            .round_trip = hop.link.round_trip()});
    }
}

void HopDriver::set_timer(Instant now) {
    std::optional<Instant> first;
    for (const auto& [number, hop] : hops_) {
        const auto due = hop.dial ? hop.dial->deadline() : hop.link.deadline();
        first = due ? std::min(first.value_or(*due), *due) : first;
    }
    due_ = first;
    itimerspec spec{};
    if (first) {
        spec.it_value = to_timespec(std::max(*first, now));
    }
    static_cast<void>(::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr));
}

// ---- packets to a peer

/// No member hears a group, and to one without a connection nothing is sent.
Result<Sent> HopDriver::send(const Train& train) {
    const auto at = found({.peer = train.target.peer, .flow = train.target.flow});
    if (train.target.to_group || at == hops_.end()) {
        return train.target.to_group ? Result<Sent>{Sent::all} : endpoints_.tcp->send(train);
    }
    std::vector<std::byte> bytes;
    bytes.reserve(train.bytes);
    for (const Bytes piece : train.pieces) {
        bytes.insert(bytes.end(), piece.begin(), piece.end());
    }
    Hop& hop = at->second;
    for (std::size_t from = 0; from < bytes.size(); from += train.packet_bytes) {
        const Bytes packet = Bytes{bytes}.subspan(
            from, std::min<std::size_t>(train.packet_bytes, bytes.size() - from));
        wire::HeaderFault fault{};
        const auto header = wire::read_header(packet, fault);
        hop.link.push(packet, !header || !header->is_data());
    }
    hop.must_report_ready = true;
    const Instant now = read_clock();
    flush(now, hop);
    set_timer(now);
    return Sent::all;
}

// ---- connections by their ends

HopDriver::Hops::iterator HopDriver::found(LinkEnd to) {
    const auto number = by_end_.find(to);
    return number != by_end_.end() ? hops_.find(number->second) : hops_.end();
}

/// Packets that it delivered in this turn stay until the next.
void HopDriver::end(Hops::iterator at, bool is_reported) {
    const auto to = at->second.to;
    at->second.must_report_ready = false;
    at->second.link.end();
    flush(read_clock(), at->second);
    if (to) {
        by_end_.erase(*to);
        if (at->second.dial) {
            endpoints_.tcp->hang_up(*to);
        }
        if (is_reported) {
            changes_.push_back(
                {.peer = to->peer, .flow = to->flow, .kind = LinkEvent::Kind::closed});
        }
    }
    hops_.erase(at);
}

void HopDriver::forget_events(LinkEnd of) {
    std::erase_if(changes_, [of](const LinkEvent& event) {
        return event.peer == of.peer && event.flow == of.flow;
    });
}

bool HopDriver::prove(std::uint32_t connection, std::optional<LinkEnd> sender) {
    if ((connection & kHopMark) == 0) {
        const bool is_proved = endpoints_.tcp->prove(connection, sender);
        if (is_proved && sender && found(*sender) != hops_.end()) {
            end(found(*sender), false);
            forget_events(*sender);
        }
        return is_proved;
    }
    const auto at = std::ranges::find_if(
        hops_, [connection](const auto& each) { return each.second.unproved == connection; });
    if (at == hops_.end()) {
        return false;
    }
    if (at->second.to) {
        return at->second.to == sender;
    }
    if (!sender) {
        end(at, false);
        return false;
    }
    hang_up(*sender);
    forget_events(*sender);
    at->second.to = *sender;
    by_end_[*sender] = at->first;
    is_used_ = true;
    return true;
}

void HopDriver::take_links(std::vector<LinkEvent>& events) {
    hear_tcp(read_clock());
    events.insert(events.end(), changes_.begin(), changes_.end());
    changes_.clear();
}

void HopDriver::hang_up(LinkEnd to) {
    if (const auto at = found(to); at != hops_.end()) {
        end(at, false);
    }
    endpoints_.tcp->hang_up(to);
}

Error HopDriver::no_connection(Rank peer, Duration tried) const {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(tried);
    return {Blame::node,
            "no connection from " + endpoints_.members[endpoints_.own.index()].host() + " to " +
                endpoints_.members[peer.index()].host() +
                " by UDP or TCP could be made within " + std::to_string(seconds.count()) +
                " s: a firewall closes the data ports; open UDP and TCP " +
                endpoints_.data_ports + " (DataPortRange) between the clusters' gateways"};
}

}  // namespace stage::hop
