#include "transport/udp/sockets.h"

#include "transport/os/bound_address.h"

#include <ifaddrs.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

namespace stage::udp {
namespace {

/// What comes from peers was asked for, a few packets at a time.
constexpr std::uint32_t kPeersPart = 4;

template <class Value>
Status set(int socket, int level, int option, const Value& value, const char* doing) {
    if (::setsockopt(socket, level, option, &value, sizeof value) != 0) {
        return Error::from_errno(Blame::node, doing);
    }
    return {};
}

Result<UniqueFd> make_socket(int family) {
    UniqueFd fd{::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (!fd) {
        return Error::from_errno(Blame::node, "opening a UDP socket");
    }
    return fd;
}

/// Asks for a buffer, beyond the system's maximum if that may be.
void ask_for(int socket, std::uint32_t wanted, bool is_forced, std::pair<int, int> options) {
    const auto [force, plain] = options;
    const int bytes = static_cast<int>(wanted);
    if (!is_forced || ::setsockopt(socket, SOL_SOCKET, force, &bytes, sizeof bytes) != 0) {
        static_cast<void>(::setsockopt(socket, SOL_SOCKET, plain, &bytes, sizeof bytes));
    }
}

/// Buffers and marking. A smaller buffer than asked for, or no DSCP, is no failure.
void tune(int socket, int family, const SocketOptions& options, std::uint32_t receive_bytes) {
    const bool is_forced = options.force_buffer;
    ask_for(socket, receive_bytes, is_forced, {SO_RCVBUFFORCE, SO_RCVBUF});
    ask_for(socket, options.buffer_bytes, is_forced, {SO_SNDBUFFORCE, SO_SNDBUF});
    const int on = 1;
    const int tos = options.dscp << 2;
    const int level = family == AF_INET6 ? IPPROTO_IPV6 : IPPROTO_IP;
    const int option = family == AF_INET6 ? IPV6_TCLASS : IP_TOS;
    static_cast<void>(::setsockopt(socket, level, option, &tos, sizeof tos));
    static_cast<void>(::setsockopt(socket, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on));
}

/// Don't fragment: the MTU was chosen, and multicast gets no ICMP back.
Status forbid_fragments(int socket, int family) {
    constexpr const char* kDoing = "forbidding fragments";
    return family == AF_INET6
               ? set(socket, IPPROTO_IPV6, IPV6_MTU_DISCOVER, int{IPV6_PMTUDISC_PROBE}, kDoing)
               : set(socket, IPPROTO_IP, IP_MTU_DISCOVER, int{IP_PMTUDISC_PROBE}, kDoing);
}

Status bind_to(int socket, const Address& address) {
    const SocketAddress target = address.to_socket();
    if (::bind(socket, target.get(), target.length) != 0) {
        return Error::from_errno(Blame::node, "binding " + address.to_string());
    }
    return {};
}

Result<unsigned> interface_index(const std::string& interface) {
    const unsigned index = ::if_nametoindex(interface.c_str());
    if (index == 0) {
        return Error::from_errno(Blame::node, "network interface '" + interface + "'")
            .remedy("name one of this node's in stagecast.conf (Interface=)");
    }
    return index;
}

/// What arrives by `interface` passes, except what this host has sent itself: the kernel loops
/// each broadcast packet back. Interface 0: nothing passes.
Status hear_broadcast(int socket, unsigned interface) {
    constexpr auto kInterface = static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_IFINDEX);
    constexpr auto kKind = static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_PKTTYPE);
    constexpr std::uint32_t kAll = 0xffffffffU;
    std::array<sock_filter, 6> program{
        sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, kInterface},
        sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, 3, interface},
        sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, kKind},
        sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 1, 0, PACKET_LOOPBACK},
        sock_filter{BPF_RET | BPF_K, 0, 0, kAll},
        sock_filter{BPF_RET | BPF_K, 0, 0, 0}};
    const sock_fprog filter{.len = program.size(), .filter = program.data()};
    return set(socket, SOL_SOCKET, SO_ATTACH_FILTER, filter, "hearing one interface only");
}

Status change(int socket, const Address& group, unsigned interface, bool joins) {
    if (is_broadcast(group)) {
        return hear_broadcast(socket, joins ? interface : 0);
    }
    group_req request{};
    request.gr_interface = interface;
    const SocketAddress target = group.to_socket();
    std::memcpy(&request.gr_group, &target.storage, target.length);
    const int level = group.is_v6() ? IPPROTO_IPV6 : IPPROTO_IP;
    const int option = joins ? MCAST_JOIN_GROUP : MCAST_LEAVE_GROUP;
    if (auto changed = set(socket, level, option, request, joins ? "joining" : "leaving");
        !changed) {
        return std::move(changed).error().within("multicast group " + group.host());
    }
    return {};
}

Status join(int socket, const Address& group, unsigned interface) {
    if (auto joined = change(socket, group, interface, true); !joined || is_broadcast(group)) {
        return joined;
    }
    if (group.is_v6()) {
        return set(socket, IPPROTO_IPV6, IPV6_MULTICAST_ALL, int{0}, "hearing one group only");
    }
    return set(socket, IPPROTO_IP, IP_MULTICAST_ALL, int{0}, "hearing one group only");
}

Status send_multicast_by(int socket, int family, unsigned interface, std::uint8_t ttl) {
    if (family == AF_INET6) {
        static_cast<void>(set(socket, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, int{0}, ""));
        static_cast<void>(set(socket, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, int{ttl}, ""));
        return set(socket,
                   IPPROTO_IPV6,
                   IPV6_MULTICAST_IF,
                   static_cast<int>(interface),
                   "choosing the multicast interface");
    }
    static_cast<void>(set(socket, IPPROTO_IP, IP_MULTICAST_LOOP, int{0}, ""));
    static_cast<void>(set(socket, IPPROTO_IP, IP_MULTICAST_TTL, int{ttl}, ""));
    ip_mreqn request{};
    request.imr_ifindex = static_cast<int>(interface);
    return set(
        socket, IPPROTO_IP, IP_MULTICAST_IF, request, "choosing the multicast interface");
}

/// While SO_REUSEPORT is set the kernel lets a socket bind beside another of the same user that
/// has it set, too: the one that holds the port. Afterwards no other socket can bind beside
/// this one.
Status bind_beside_holder(int socket, const Address& address, bool is_holder) {
    if (!is_holder) {
        return bind_to(socket, address);
    }
    if (auto shared = set(socket, SOL_SOCKET, SO_REUSEPORT, int{1}, "using a held port");
        !shared) {
        return shared;
    }
    Status bound = bind_to(socket, address);
    Status alone = set(socket, SOL_SOCKET, SO_REUSEPORT, int{0}, "keeping a port");
    return bound ? alone : bound;
}

/// From here on a port is any user's, not only root's.
constexpr std::uint16_t kUnprivilegedPorts = 1024;

/// Binds to the first free port of a range, or returns an error if all are taken.
Status bind_in_range(int socket,
                     const Address& own,
                     std::pair<std::uint16_t, std::uint16_t> ports,
                     bool is_holder) {
    for (unsigned port = ports.first; port <= ports.second; ++port) {
        const Address candidate = own.with_port(static_cast<std::uint16_t>(port));
        auto bound = bind_beside_holder(socket, candidate, is_holder);
        if (bound || bound.error().cause() != EADDRINUSE) {
            return bound;
        }
    }
    return Error{Blame::node,
                 "all UDP ports " + std::to_string(ports.first) + "-" +
                     std::to_string(ports.second) + " of " + own.host() + " are taken" +
                     (ports.second >= kUnprivilegedPorts
                          ? ", and any local user can bind ports above 1023 ('ss -lunp' shows "
                            "which processes have)"
                          : "") +
                     "; widen DataPortRange in stagecast.conf, or move it"};
}

}  // namespace

bool is_broadcast(const Address& group) {
    const Bytes octets = group.ip.bytes();
    return !group.is_v6() &&
           std::ranges::all_of(octets, [](std::byte octet) { return octet == std::byte{255}; });
}

Address GroupFlows::address(Flow flow) const {
    Address place = first.with_port(static_cast<std::uint16_t>(first.port + flow.value()));
    std::size_t carry = is_broadcast(first) ? 0 : flow.index() % rails;
    for (std::size_t i = place.ip.length(); i > 0 && carry > 0; --i) {
        carry += std::to_integer<std::size_t>(place.ip.octets[i - 1]);
        place.ip.octets[i - 1] = static_cast<std::byte>(carry & 0xffU);
        carry >>= 8U;
    }
    return place;
}

Result<UniqueFd> open_group_socket(const Address& group, const SocketOptions& options) {
    auto fd = make_socket(group.family());
    auto index = interface_index(options.interface);
    if (!fd || !index) {
        return fd ? std::move(index).error() : std::move(fd).error();
    }
    tune(fd->get(), group.family(), options, options.buffer_bytes);
    for (auto step : {set(fd->get(), SOL_SOCKET, SO_REUSEADDR, int{1}, "sharing the port"),
                      bind_beside_holder(fd->get(), group, options.is_holder),
                      join(fd->get(), group, *index)}) {
        if (!step) {
            return std::move(step).error();
        }
    }
    return fd;
}

Result<std::vector<UniqueFd>> open_flow_sockets(const GroupFlows& flows,
                                                std::span<const Rail> rails,
                                                SocketOptions options) {
    options.buffer_bytes /= static_cast<std::uint32_t>(flows.flows);
    std::vector<UniqueFd> sockets;
    for (std::size_t flow = 0; flow < flows.flows; ++flow) {
        options.interface = rails[flow % rails.size()].name;
        TRY(auto opened,
            open_group_socket(flows.address(Flow{static_cast<std::uint8_t>(flow)}), options));
        sockets.push_back(std::move(opened));
    }
    return sockets;
}

Status change_membership(int socket,
                         const Address& group,
                         const std::string& interface,
                         bool joins) {
    auto index = interface_index(interface);
    return index ? change(socket, group, *index, joins) : Status{std::move(index).error()};
}

Result<UniqueFd> hold_port(std::uint16_t port) {
    auto fd = make_socket(AF_INET);
    if (!fd) {
        return fd;
    }
    std::array<sock_filter, 1> drop_all{sock_filter{BPF_RET | BPF_K, 0, 0, 0}};
    const sock_fprog filter{.len = drop_all.size(), .filter = drop_all.data()};
    TRY(const auto any, Address::parse("0.0.0.0", port));
    // So that trains that are broadcast to the port are not cut up before they are dropped.
    static_cast<void>(set(fd->get(), IPPROTO_UDP, UDP_GRO, int{1}, ""));
    for (auto step : {set(fd->get(), SOL_SOCKET, SO_ATTACH_FILTER, filter, "hearing nothing"),
                      set(fd->get(), IPPROTO_IP, IP_MULTICAST_ALL, int{0}, "hearing no group"),
                      set(fd->get(), SOL_SOCKET, SO_REUSEPORT, int{1}, "holding a port"),
                      bind_to(fd->get(), any)}) {
        if (!step) {
            return std::move(step).error();
        }
    }
    return fd;
}

/// Sends to the group, and whatever else from `own`.
Result<UniqueFd> open_sender(const Address& own,
                             std::pair<std::uint16_t, std::uint16_t> ports,
                             const SocketOptions& options,
                             std::uint32_t receive_bytes) {
    auto fd = make_socket(own.family());
    auto index = interface_index(options.interface);
    if (!fd || !index) {
        return fd ? std::move(index).error() : std::move(fd).error();
    }
    tune(fd->get(), own.family(), options, receive_bytes);
    for (auto step : {forbid_fragments(fd->get(), own.family()),
                      set(fd->get(),
                          SOL_SOCKET,
                          SO_BROADCAST,
                          int{options.broadcasts},
                          "allowing broadcast"),
                      bind_in_range(fd->get(), own, ports, options.is_holder),
                      send_multicast_by(fd->get(), own.family(), *index, options.ttl)}) {
        if (!step) {
            return std::move(step).error();
        }
    }
    return fd;
}

Result<UniqueFd> open_peer_socket(const Address& own,
                                  std::pair<std::uint16_t, std::uint16_t> ports,
                                  const SocketOptions& options) {
    const std::uint32_t part = options.carries_blocks ? 1 : kPeersPart;
    return open_sender(own, ports, options, options.buffer_bytes / part);
}

Result<std::vector<UniqueFd>> open_rail_sockets(std::span<const Rail> rails,
                                                std::pair<std::uint16_t, std::uint16_t> ports,
                                                SocketOptions options) {
    std::vector<UniqueFd> sockets;
    for (std::size_t rail = 1; rail < rails.size(); ++rail) {
        options.interface = rails[rail].name;
        auto opened = open_sender(rails[rail].address, ports, options, 0);  // It is never read.
        if (!opened) {
            return std::move(opened).error().within("rail " + rails[rail].name);
        }
        sockets.push_back(*std::move(opened));
    }
    return sockets;
}

Status allow_fragments(int socket) {
    constexpr const char* kDoing = "allowing fragments";
    TRY(const auto bound, bound_address(socket));
    return bound.is_v6()
               ? set(socket, IPPROTO_IPV6, IPV6_MTU_DISCOVER, int{IPV6_PMTUDISC_DONT}, kDoing)
               : set(socket, IPPROTO_IP, IP_MTU_DISCOVER, int{IP_PMTUDISC_DONT}, kDoing);
}

std::uint32_t receive_buffer_bytes(int socket) {
    int bytes = 0;
    socklen_t length = sizeof bytes;
    static_cast<void>(::getsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, &length));
    return static_cast<std::uint32_t>(bytes);
}

}  // namespace stage::udp
