// How are a session's two UDP sockets opened?
//
// One is bound to the group's address and port and joined on the interface that the site named;
// one is bound to the node's own address, sends everything and hears what peers say. The daemon
// opens them as root (buffers beyond rmem_max) and passes them to the worker; the engine alone
// opens them with what its user may have. No multicast leaves another interface; nothing is
// looped back (IP_MULTICAST_LOOP=0) and nothing joined by others is heard (IP_MULTICAST_ALL=0).
#pragma once

#include "transport/base/address.h"
#include "transport/base/result.h"
#include "transport/base/unique_fd.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace stage::udp {

struct SocketOptions {
    std::string interface;  ///< "eth0"; never empty.
    std::uint8_t ttl = 1;   ///< Of multicast.
    std::uint8_t dscp = 8;  ///< CS1, "less than best effort".
    /// Asked for in each direction, by the peers' socket a quarter to receive. The kernel
    /// grants twice that, and counts its own share.
    std::uint32_t buffer_bytes = 12U << 20U;
    bool force_buffer = false;  ///< As root: beyond the system's maximum.
};

/// Where the group hears a lane: `group`, at the lane's number of ports beyond its own.
[[nodiscard]] Address lane_address(const Address& group, Lane lane);

/// Bound to `group` (address and port; other sessions of this node may share both) and joined.
[[nodiscard]] Result<UniqueFd> open_group_socket(const Address& group,
                                                 const SocketOptions& options);

/// One such a lane, together with the buffer that was asked for.
[[nodiscard]] Result<std::vector<UniqueFd>> open_lane_sockets(const Address& group,
                                                              std::size_t lanes,
                                                              SocketOptions options);

/// The socket of open_group_socket() leaves the group, or joins it again.
[[nodiscard]] Status change_membership(int socket,
                                       const Address& group,
                                       const std::string& interface,
                                       bool joins);

/// Bound to `own` on the first free port of `first` .. `last`; multicast leaves by the
/// interface.
[[nodiscard]] Result<UniqueFd> open_peer_socket(const Address& own,
                                                std::pair<std::uint16_t, std::uint16_t> ports,
                                                const SocketOptions& options);

/// The first address of `interface` in `family` (AF_INET or AF_INET6).
[[nodiscard]] Result<Address> interface_address(const std::string& interface, int family);
/// The interface that carries `address`.
[[nodiscard]] Result<std::string> interface_of(const Address& address);
/// Its MTU, bytes.
[[nodiscard]] Result<std::uint32_t> interface_mtu(const std::string& interface);

/// Where the socket is bound.
[[nodiscard]] Result<Address> bound_address(int socket);
/// What the kernel granted for receiving, bytes.
[[nodiscard]] std::uint32_t receive_buffer_bytes(int socket);

}  // namespace stage::udp
