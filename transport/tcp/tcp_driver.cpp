#include "transport/tcp/tcp_driver.h"

#include "transport/base/invariant.h"
#include "transport/os/clock.h"
#include "transport/os/lacks_descriptor.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <tuple>
#include <utility>

namespace stage::tcp {
namespace {

constexpr std::size_t kEventsMax = 64;
constexpr std::size_t kUnprovedMax = 64;
/// In a turn: other hosts and users can connect faster than the loop turns, and members'
/// connections wait among theirs.
constexpr int kAcceptsMax = 256;
constexpr std::uint32_t kListener = 0;
constexpr std::uint32_t kDialler = 1;
constexpr std::uint32_t kFirstLink = 2;
/// Until a listener without a descriptor for another connection is looked at again.
constexpr Duration kListenAgain = std::chrono::milliseconds{100};

epoll_event event_of(std::uint32_t id, bool writes) {
    epoll_event event{};
    event.events = EPOLLIN | (writes ? std::uint32_t{EPOLLOUT} : 0U);
    event.data.u32 = id;
    return event;
}

bool is_before(const IpAddress& one, const IpAddress& other) {
    return std::tie(one.family, one.octets) < std::tie(other.family, other.octets);
}

/// From this member's own address another one connects only if it is on the same host.
std::vector<IpAddress> others_of(const TcpEndpoints& endpoints) {
    std::vector<IpAddress> others;
    for (std::size_t rank = 0; rank < endpoints.members.size(); ++rank) {
        if (rank != endpoints.own.index()) {
            others.push_back(endpoints.members[rank].ip);
        }
    }
    std::ranges::sort(others, is_before);
    const auto repeated = std::ranges::unique(others);
    others.erase(repeated.begin(), repeated.end());
    return others;
}

}  // namespace

TcpDriver::TcpDriver(TcpEndpoints endpoints)
    : endpoints_{std::move(endpoints)},
      others_{others_of(endpoints_)},
      dialler_{endpoints_.members[endpoints_.own.index()], endpoints_.shaping},
      events_{::epoll_create1(EPOLL_CLOEXEC)},
      next_id_{kFirstLink} {
    invariant(events_.get() >= 0 &&
                  begin_waiting(endpoints_.listener.get(), kListener, false) &&
                  begin_waiting(dialler_.descriptor(), kDialler, false),
              "a listener can be waited for");
    if (!endpoints_.shaping.is_multipath) {
        drop_others(endpoints_.listener.get(), others_);
    }
}

bool TcpDriver::begin_waiting(int descriptor, std::uint32_t id, bool writes) {
    epoll_event event = event_of(id, writes);
    return ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

Status TcpDriver::receive(std::vector<ReceivedPacket>& packets, Readable readable) {
    ended_.clear();
    for (auto& [id, link] : links_) {
        link.connection.forget_packets();
    }
    look_again();
    if (!readable.peers) {
        return {};
    }
    std::array<epoll_event, kEventsMax> events;
    const int count =
        ::epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()), 0);
    ++counters_.receive_calls;
    for (const epoll_event& event :
         std::span{events}.first(static_cast<std::size_t>(std::max(count, 0)))) {
        if (event.data.u32 == kListener) {
            accept_some();
        } else if (event.data.u32 == kDialler) {
            dialled();
        } else {
            serve(event.data.u32, event.events, packets);
        }
    }
    return {};
}

/// What becomes due without an event. Loops turn several times a second.
void TcpDriver::look_again() {
    const Instant now = read_clock();
    if (!listens_ && now >= listens_at_) {
        set_listening(true);
    }
    std::vector<std::uint32_t> hopeless;
    for (auto& [id, link] : links_) {
        if (link.probe.look(link.connection, now)) {
            end_by_reset(link.connection.descriptor());
            hopeless.push_back(id);
        }
    }
    std::ranges::for_each(hopeless, [this](std::uint32_t id) { end(id); });
}

/// How the end of a connection is reported.
LinkEvent::Kind TcpDriver::end_of(const Link& link) {
    const auto shorter = shorter_segment(
        link.connection, endpoints_.packet_bytes_max, link.opened_at, read_clock());
    if (!shorter) {
        return LinkEvent::Kind::closed;
    }
    dialler_.narrow(*shorter);
    return LinkEvent::Kind::narrowed;
}

bool TcpDriver::is_other_members(const IpAddress& address) const {
    return std::ranges::binary_search(others_, address, is_before);
}

void TcpDriver::accept_some() {
    for (int count = 0; count < kAcceptsMax; ++count) {
        UniqueFd socket = accept_connection(endpoints_.listener.get(), endpoints_.shaping);
        if (!socket) {
            if (lacks_descriptor(errno)) {
                set_listening(false);
            }
            return;
        }
        const auto peer = peer_of(socket.get());
        if (!peer || !is_other_members(peer->ip)) {
            end_by_reset(socket.get());
            continue;
        }
        make_room();
        const std::uint32_t id = next_id_++;
        if (begin_waiting(socket.get(), id, false)) {
            links_.emplace(
                id, Link{.connection = {std::move(socket), 0}, .to = {}, .from = peer->ip});
        }
    }
}

/// Too many that prove nothing are no members: the oldest goes of the address that has the most
/// of them, so that users of one node are in the way of no other node.
void TcpDriver::make_room() {
    std::map<IpAddress, std::size_t, decltype(&is_before)> counts{&is_before};
    std::size_t unproved = 0;
    for (const auto& [id, link] : links_) {
        if (!link.to) {
            ++counts[link.from];
            ++unproved;
        }
    }
    if (unproved < kUnprovedMax) {
        return;
    }
    const auto most =
        std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
    end(std::ranges::find_if(links_, [&](const auto& each) {
            return !each.second.to && each.second.from == most->first;
        })->first);
}

/// A listener that cannot be accepted from would be readable all the time.
void TcpDriver::set_listening(bool listens) {
    if (std::exchange(listens_, listens) != listens) {
        listens_at_ = read_clock() + kListenAgain;
        epoll_event event = event_of(kListener, false);
        event.events = listens ? std::uint32_t{EPOLLIN} : 0U;
        static_cast<void>(
            ::epoll_ctl(events_.get(), EPOLL_CTL_MOD, endpoints_.listener.get(), &event));
    }
}

/// What was sent meanwhile leaves when the socket is writable.
void TcpDriver::dialled() {
    std::vector<Dialled> all;
    dialler_.poll(all);
    for (Dialled& each : all) {
        const std::uint32_t id = by_end_.at(each.to);
        if (each.socket && begin_waiting(each.socket.get(), id, true)) {
            links_.at(id).connection.open(std::move(each.socket));
            links_.at(id).opened_at = read_clock();
            links_.at(id).round_trip = each.round_trip;
            set_listening(true);  // The other attempts have given their descriptors back.
        } else {
            end(id);
        }
    }
}

void TcpDriver::serve(std::uint32_t id,
                      std::uint32_t events,
                      std::vector<ReceivedPacket>& packets) {
    const auto found = links_.find(id);
    if (found == links_.end()) {
        return;
    }
    Link& link = found->second;
    bool lives = true;
    if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0 && link.connection.wants_to_write()) {
        lives = link.connection.flush();
    }
    if (lives && (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) {
        const std::size_t before = packets.size();
        lives = link.connection.read(packets);
        for (ReceivedPacket& packet : std::span{packets}.subspan(before)) {
            packet.unproved = link.to ? 0 : id;
            counters_.bytes_received += packet.bytes.size();
        }
        counters_.packets_received += packets.size() - before;
    }
    if (lives) {
        await(id, link);
    } else {
        end(id);
    }
}

/// Waits for writability exactly while something is to be written.
void TcpDriver::await(std::uint32_t id, Link& link) {
    const bool writes = link.connection.wants_to_write();
    if (std::exchange(link.awaits_write, writes) != writes) {
        epoll_event event = event_of(id, writes);
        static_cast<void>(
            ::epoll_ctl(events_.get(), EPOLL_CTL_MOD, link.connection.descriptor(), &event));
    }
    if (!writes && link.to && std::exchange(link.must_report_ready, false)) {
        report(*link.to, LinkEvent::Kind::ready, link.round_trip);
    }
}

void TcpDriver::report(LinkEnd to, LinkEvent::Kind kind, Duration round_trip) {
    changes_.push_back(
        {.peer = to.peer, .flow = to.flow, .kind = kind, .round_trip = round_trip});
}

/// Packets that it delivered in this turn may still be looked at: their bytes stay until the
/// next.
void TcpDriver::end(std::uint32_t id) {
    const auto found = links_.find(id);
    if (found == links_.end()) {
        return;
    }
    if (const auto to = found->second.to) {
        report(*to, end_of(found->second));
        by_end_.erase(*to);
        dialler_.give_up(*to);
    }
    found->second.connection.close();
    set_listening(true);
    ended_.push_back(std::move(found->second.connection));
    links_.erase(found);
}

void TcpDriver::connect(LinkEnd to) {
    invariant(to.peer.index() < endpoints_.members.size(), "a peer is a member");
    if (by_end_.contains(to)) {
        return;
    }
    if (!dialler_.dial(to, endpoints_.members[to.peer.index()])) {
        return report(to, LinkEvent::Kind::closed);
    }
    const std::uint32_t id = next_id_++;
    by_end_[to] = id;
    links_.emplace(id,
                   Link{.connection = {UniqueFd{}, endpoints_.packet_bytes_max},
                        .to = to,
                        .must_report_ready = true,
                        .awaits_write = true});
}

/// No member hears a group, and to one without a connection nothing is sent.
Result<Sent> TcpDriver::send(const Train& train) {
    const auto found = by_end_.find({.peer = train.target.peer, .flow = train.target.flow});
    if (train.target.to_group || found == by_end_.end()) {
        return Sent::all;
    }
    const std::uint32_t id = found->second;
    Link& link = links_.at(id);
    ++counters_.send_calls;
    counters_.bytes_sent += train.bytes;
    counters_.packets_sent += (train.bytes + train.packet_bytes - 1) / train.packet_bytes;
    link.must_report_ready = true;
    if (link.connection.send(train)) {
        await(id, link);
    } else {
        end(id);
    }
    return Sent::all;
}

/// A packet that does not open is no member's, and its connection is closed. An earlier
/// connection of the sender is of no use any more, and its end no event: the core begins anew
/// with the packet.
bool TcpDriver::prove(std::uint32_t connection, std::optional<LinkEnd> sender) {
    const auto found = links_.find(connection);
    if (found == links_.end()) {
        return false;
    }
    if (found->second.to) {
        return found->second.to == sender;
    }
    if (!sender) {
        end(connection);
        return false;
    }
    hang_up(*sender);
    std::erase_if(changes_, [&](const LinkEvent& event) {
        return event.peer == sender->peer && event.flow == sender->flow;
    });
    found->second.to = *sender;
    found->second.connection.trust(endpoints_.packet_bytes_max);
    found->second.round_trip = round_trip_of(found->second.connection.descriptor());
    dialler_.learn(found->second.round_trip);
    by_end_[*sender] = connection;
    found->second.probe.begin(
        found->second.connection, endpoints_.packet_bytes_max, read_clock());
    await(connection, found->second);
    return true;
}

void TcpDriver::take_links(std::vector<LinkEvent>& events) {
    events.insert(events.end(), changes_.begin(), changes_.end());
    changes_.clear();
}

void TcpDriver::hang_up(LinkEnd to) {
    if (const auto found = by_end_.find(to); found != by_end_.end()) {
        const std::uint32_t id = found->second;
        links_.at(id).to.reset();
        by_end_.erase(found);
        dialler_.give_up(to);
        end(id);
    }
}

Error TcpDriver::no_connection(Rank peer, Duration tried) const {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(tried);
    return {Blame::node,
            "no connection from " + endpoints_.members[endpoints_.own.index()].host() +
                " to the data port " + endpoints_.members[peer.index()].to_string() +
                " (TCP) could be made within " + std::to_string(seconds.count()) +
                " s: a firewall closes the data ports; open TCP " + endpoints_.data_ports +
                " (DataPortRange) on all nodes"};
}

}  // namespace stage::tcp
