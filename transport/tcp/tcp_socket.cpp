#include "transport/tcp/tcp_socket.h"

#include <linux/filter.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <vector>

namespace stage::tcp {
namespace {

/// More than a group's degree: members whose parents failed come to their ancestors.
constexpr int kBacklog = 1024;
/// What the kernel holds unsent beside what is under way: enough to be busy until the process
/// is scheduled again, and little enough that a control packet is not late behind it.
constexpr int kUnsentBytes = 256 << 10;
/// TCP_RTO_MIN_US, which Linux has from 6.15 on and the C library's header lacks.
constexpr int kLeastTimeoutOption = 45;
/// A lost repair ends in a time-out, and in a chain all members below wait. TCP's own least one
/// is 200 ms, for a peer that delays its ACK as long; Linux delays it by 40 ms at most, or an
/// RTT.
constexpr int kLeastTimeoutUs = 50'000;
constexpr std::string_view kLongPathControl = "bbr";

/// An older kernel leaves what it does not know at 0.
std::optional<tcp_info> info_of(int socket) {
    tcp_info info{};
    socklen_t length = sizeof info;
    const bool is_known = ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) == 0;
    return is_known ? std::optional{info} : std::nullopt;
}

/// Repetitions in a row that show that the path drops a segment.
constexpr std::uint8_t kInVain = 2;

Result<UniqueFd> make_socket(int family, const Shaping& shaping) {
    constexpr int kKind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    const bool is_multipath = shaping.is_multipath && shaping.segment_bytes == 0;
    UniqueFd fd{is_multipath ? ::socket(family, kKind, IPPROTO_MPTCP) : -1};
    if (!fd) {
        fd.reset(::socket(family, kKind, 0));
    }
    if (!fd) {
        return Error::from_errno(Blame::node, "opening a TCP socket");
    }
    return fd;
}

/// A kernel that refuses one of these carries the packets all the same.
void tune(int socket, int family, const Shaping& shaping) {
    const int on = 1;
    const int tos = shaping.dscp << 2;
    const bool is_v6 = family == AF_INET6;
    static_cast<void>(::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
    static_cast<void>(::setsockopt(
        socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentBytes, sizeof kUnsentBytes));
    static_cast<void>(::setsockopt(
        socket, IPPROTO_TCP, kLeastTimeoutOption, &kLeastTimeoutUs, sizeof kLeastTimeoutUs));
    static_cast<void>(::setsockopt(socket,
                                   is_v6 ? IPPROTO_IPV6 : IPPROTO_IP,
                                   is_v6 ? IPV6_TCLASS : IP_TOS,
                                   &tos,
                                   sizeof tos));
    if (shaping.is_long_path) {
        static_cast<void>(::setsockopt(socket,
                                       IPPROTO_TCP,
                                       TCP_CONGESTION,
                                       kLongPathControl.data(),
                                       static_cast<socklen_t>(kLongPathControl.size())));
    }
    if (const std::uint64_t rate = shaping.bytes_per_s; rate > 0) {
        static_cast<void>(
            ::setsockopt(socket, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate));
    }
}

Status bind_to(int socket, const Address& address) {
    const SocketAddress target = address.to_socket();
    if (::bind(socket, target.get(), target.length) != 0) {
        return Error::from_errno(Blame::node, "binding TCP " + address.to_string());
    }
    return {};
}

/// `option`: SO_REUSEADDR, for a connection of an earlier broadcast may still end on this port;
/// or SO_REUSEPORT, which allows that and one that holds the port.
Result<UniqueFd> listen_on(const Address& own, const Shaping& shaping, int option) {
    auto socket = make_socket(own.family(), shaping);
    if (!socket) {
        return socket;
    }
    const int on = 1;
    static_cast<void>(::setsockopt(socket->get(), SOL_SOCKET, option, &on, sizeof on));
    TRY(bind_to(socket->get(), own));
    tune(socket->get(), own.family(), shaping);
    if (::listen(socket->get(), kBacklog) != 0) {
        return Error::from_errno(Blame::node, "listening on TCP " + own.to_string());
    }
    return socket;
}

}  // namespace

/// Linux lets sockets of one user, and of no other, bind a port together if all have
/// SO_REUSEPORT. One that does not listen gets no connection. (SO_REUSEADDR would let sockets
/// of all users do so.)
Result<UniqueFd> hold_port(int family, std::uint16_t port) {
    TRY(const auto any, Address::parse(family == AF_INET6 ? "::" : "0.0.0.0", port));
    TRY(auto socket, make_socket(family, {}));
    const int on = 1;
    if (family == AF_INET6) {  // IPv4 has a socket of its own.
        static_cast<void>(
            ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on));
    }
    static_cast<void>(::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on));
    TRY(bind_to(socket.get(), any));
    return socket;
}

Result<UniqueFd> listen_on_held(const Address& own, const Shaping& shaping) {
    return listen_on(own, shaping, SO_REUSEPORT);
}

Result<UniqueFd> listen_in_range(const Address& own,
                                 std::pair<std::uint16_t, std::uint16_t> ports,
                                 const Shaping& shaping) {
    for (unsigned port = ports.first;; ++port) {
        auto socket =
            listen_on(own.with_port(static_cast<std::uint16_t>(port)), shaping, SO_REUSEADDR);
        if (socket || socket.error().cause() != EADDRINUSE || port >= ports.second) {
            return socket;
        }
    }
}

Result<UniqueFd> open_listener(const Address& own,
                               std::pair<std::uint16_t, std::uint16_t> ports,
                               const Shaping& shaping) {
    auto socket = listen_in_range(own, ports, shaping);
    return socket || socket.error().cause() != EADDRINUSE
               ? std::move(socket)
               : listen_on(own.with_port(0), shaping, SO_REUSEADDR);
}

Shaping shaping_of(int listener) {
    const auto option = [listener](int level, int name) {
        int value = 0;
        socklen_t length = sizeof value;
        return ::getsockopt(listener, level, name, &value, &length) == 0 ? value : 0;
    };
    const bool is_v6 = option(SOL_SOCKET, SO_DOMAIN) == AF_INET6;
    const int tos = is_v6 ? option(IPPROTO_IPV6, IPV6_TCLASS) : option(IPPROTO_IP, IP_TOS);
    return {.dscp = static_cast<std::uint8_t>(tos >> 2),
            .is_multipath = option(SOL_SOCKET, SO_PROTOCOL) == IPPROTO_MPTCP};
}

Result<UniqueFd> begin_connection(const Address& own,
                                  const Address& peer,
                                  const Shaping& shaping) {
    auto socket = make_socket(peer.family(), shaping);
    if (!socket) {
        return socket;
    }
    tune(socket->get(), peer.family(), shaping);
    if (const int bytes = shaping.segment_bytes; bytes > 0) {
        static_cast<void>(
            ::setsockopt(socket->get(), IPPROTO_TCP, TCP_MAXSEG, &bytes, sizeof bytes));
    }
    // The port is chosen when the peer is known: it may have a connection to another host.
    const int on = 1;
    static_cast<void>(
        ::setsockopt(socket->get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on));
    Address from = own;
    from.port = 0;
    TRY(bind_to(socket->get(), from));
    const SocketAddress target = peer.to_socket();
    if (::connect(socket->get(), target.get(), target.length) != 0 && errno != EINPROGRESS) {
        return Error::from_errno(Blame::node, "connecting to TCP " + peer.to_string());
    }
    return socket;
}

int connection_error(int socket) {
    int error = 0;
    socklen_t length = sizeof error;
    return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

std::uint32_t segment_bytes_of(int socket) {
    int bytes = 0;
    socklen_t length = sizeof bytes;
    const bool is_known = ::getsockopt(socket, IPPROTO_TCP, TCP_MAXSEG, &bytes, &length) == 0;
    return is_known && bytes > 0 ? static_cast<std::uint32_t>(bytes) : 0;
}

Duration round_trip_of(int socket) {
    const auto info = info_of(socket);
    return std::chrono::microseconds{info ? info->tcpi_rtt : 0};
}

FirstSent first_sent(int socket) {
    const auto info = info_of(socket);
    // The SYN counts as a byte.
    if (!info || info->tcpi_bytes_acked > 1) {
        return FirstSent::acknowledged;
    }
    // Without a path nothing arrives; where only long packets are dropped, later short ones do.
    const bool arrives = info->tcpi_sacked > 0 || (info->tcpi_options & TCPI_OPT_SACK) == 0;
    return info->tcpi_retransmits >= kInVain && arrives ? FirstSent::repeated_in_vain
                                                        : FirstSent::under_way;
}

void end_by_reset(int socket) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    static_cast<void>(::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once));
}

void drop_others(int listener, std::span<const IpAddress> hosts) {
    constexpr auto kSource = static_cast<std::uint32_t>(SKF_NET_OFF + 12);  // Of IPv4's header.
    // The kernel's limit is 20 KB by default (net.core.optmem_max), for a filter of its own
    // form: up to 16 bytes a host, as long as many of them jump to one end.
    constexpr std::size_t kHostsMax = 1000;
    constexpr std::size_t kReach = 250;  // A jump goes over 255 at most.
    const bool is_v4 = std::ranges::all_of(
        hosts, [](const IpAddress& host) { return host.family == IpFamily::v4; });
    if (!is_v4 || hosts.size() > kHostsMax) {
        return;
    }
    std::vector<sock_filter> program{sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, kSource}};
    for (std::size_t first = 0; first < hosts.size(); first += kReach) {
        const auto some = hosts.subspan(first, std::min(kReach, hosts.size() - first));
        for (std::size_t i = 0; i < some.size(); ++i) {
            ByteReader octets{some[i].bytes()};
            const auto to_end = static_cast<std::uint8_t>(some.size() - i);
            program.push_back({BPF_JMP | BPF_JEQ | BPF_K, to_end, 0, octets.u32()});
        }
        program.push_back({BPF_JMP | BPF_JA, 0, 0, 1});
        program.push_back({BPF_RET | BPF_K, 0, 0, 0xffffffffU});
    }
    program.push_back({BPF_RET | BPF_K, 0, 0, 0});
    const sock_fprog filter{.len = static_cast<unsigned short>(program.size()),
                            .filter = program.data()};
    static_cast<void>(
        ::setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter));
}

UniqueFd accept_connection(int listener, const Shaping& shaping) {
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    UniqueFd fd{::accept4(
        listener, reinterpret_cast<sockaddr*>(&from), &length, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (fd) {
        // It is the listener's, and its work is done.
        const int unused = 0;
        static_cast<void>(
            ::setsockopt(fd.get(), SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused));
        tune(fd.get(), from.ss_family, shaping);
    }
    return fd;
}

Result<Address> peer_of(int socket) {
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    if (::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &length) != 0) {
        return Error::from_errno(Blame::node, "asking for the address of a TCP connection");
    }
    return Address::from_socket(reinterpret_cast<const sockaddr*>(&peer), length);
}

}  // namespace stage::tcp
