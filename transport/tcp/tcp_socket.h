// Opens the TCP sockets of a relay.
#pragma once

#include "transport/base/address.h"
#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

#include <cstdint>
#include <span>
#include <utility>

namespace stage::tcp {

/// How the packets of a connection leave.
struct Shaping {
    std::uint8_t dscp = 8;  ///< CS1, "less than best effort".
    /// The kernel spaces a connection's packets so that it sends no faster; 0: no limit.
    std::uint64_t bytes_per_s = 0;
    /// BBR, where the kernel has it: CUBIC takes each random loss for congestion, and needs
    /// many round trips to recover. Connections that are accepted, which send the data, have
    /// it from their listener.
    bool is_long_path = false;
    /// Multipath TCP (RFC 8684): the kernel divides a connection over the paths that both
    /// hosts' administrators have announced. Where the kernel or the peer has none it is TCP.
    /// Not with bytes_per_s, which the kernel (6.18) does not limit for it.
    bool is_multipath = false;
    /// The longest segment, both ways, of a connection that is made (it is no multipath one
    /// then); 0: as long as the interfaces allow.
    std::uint16_t segment_bytes = 0;
};

/// True for a rate, in bits per second, to which connections must be held: 0 and the default of
/// RateMax, 100 Gbit/s, or more are none.
[[nodiscard]] constexpr bool limits_rate(std::uint64_t bits_per_s) {
    return bits_per_s > 0 && bits_per_s < 100'000'000'000;
}

/// Holds a TCP port of all of this host's addresses of a family (AF_INET, AF_INET6) against
/// processes of other users; accepts nothing itself. Processes of the same user can listen on
/// it by listen_on_held(). Fails with EADDRINUSE if another program has the port on any
/// address.
[[nodiscard]] Result<UniqueFd> hold_port(int family, std::uint16_t port);

/// Listens on `own`, a port that the process holds. The kernel does not refuse a second
/// listener of the process on it.
[[nodiscard]] Result<UniqueFd> listen_on_held(const Address& own, const Shaping& shaping);

/// Listens on the address `own`, on the first port of `first` .. `last` that is free. Fails
/// with EADDRINUSE if other programs have all of them.
[[nodiscard]] Result<UniqueFd> listen_in_range(const Address& own,
                                               std::pair<std::uint16_t, std::uint16_t> ports,
                                               const Shaping& shaping);

/// Listens like listen_in_range(), or else on a port that the kernel chooses, so that no user
/// can keep a stage from its port.
[[nodiscard]] Result<UniqueFd> open_listener(const Address& own,
                                             std::pair<std::uint16_t, std::uint16_t> ports,
                                             const Shaping& shaping);

/// How the packets of a listener's connections leave: they inherit its DSCP, and may be
/// multipath if it is.
[[nodiscard]] Shaping shaping_of(int listener);

/// Begins a connection from the address `own`, any port, to `peer`. It stands when the socket
/// is writable and connection_error() is 0.
[[nodiscard]] Result<UniqueFd> begin_connection(const Address& own,
                                                const Address& peer,
                                                const Shaping& shaping);
/// 0, or the errno of a connection that could not be made.
[[nodiscard]] int connection_error(int socket);

/// The bytes of a full segment of a connection; 0 if the kernel does not say.
[[nodiscard]] std::uint32_t segment_bytes_of(int socket);
/// The connection's RTT, smoothed; 0: not known yet.
[[nodiscard]] Duration round_trip_of(int socket);
/// What became of what a connection carried first.
enum class FirstSent : std::uint8_t { under_way, acknowledged, repeated_in_vain };
[[nodiscard]] FirstSent first_sent(int socket);
/// From now on the end of the socket is a reset, which does not wait for what was sent before.
void end_by_reset(int socket);

/// From now on the kernel drops what comes to a listener from other hosts than these, so that
/// it does not fill the backlog. It drops nothing if the hosts are too many for a filter, or
/// have IPv6: the caller checks where an accepted connection comes from. Not for a multipath
/// listener, to which one host connects from several addresses.
void drop_others(int listener, std::span<const IpAddress> hosts);

/// Takes a connection that waits at the listener; an invalid descriptor if none does.
[[nodiscard]] UniqueFd accept_connection(int listener, const Shaping& shaping);
/// The address of a connection's other end.
[[nodiscard]] Result<Address> peer_of(int socket);

}  // namespace stage::tcp
