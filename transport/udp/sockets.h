// Opens the UDP sockets of a session.
//
// One socket for each flow is bound to the group's address and port and joined on the
// configured interface. One is bound to the node's own address; it sends everything and
// receives what peers send. With several rails (rails.h) the source has one more for each rail
// except the first, which only sends to the group. The daemon opens them as root (buffers
// beyond rmem_max) and passes them to the worker; the engine opens them with its user's limits.
// Multicast leaves by no other interface, is not looped back (IP_MULTICAST_LOOP=0), and groups
// joined by other sockets are not received (IP_MULTICAST_ALL=0).
//
// The group may also be the broadcast address, 255.255.255.255: then all hosts of the LAN
// receive its packets, and no router forwards them. There is nothing to join. A filter of the
// socket takes what arrives by the configured interface and was not sent by this host.
#pragma once

#include "transport/base/address.h"
#include "transport/base/result.h"
#include "transport/fabric/rails.h"
#include "transport/os/unique_fd.h"

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace stage::udp {

struct SocketOptions {
    std::string interface;  ///< "eth0"; never empty.
    std::uint8_t ttl = 1;   ///< The TTL of multicast.
    std::uint8_t dscp = 8;  ///< CS1, "less than best effort".
    /// The buffer requested in each direction; the peers' socket requests a quarter for
    /// receiving. The kernel grants twice that, and counts its own overhead.
    std::uint32_t buffer_bytes = 12U << 20U;
    bool force_buffer = false;  ///< Exceeds the system's maximum, as root may.
    bool broadcasts = false;    ///< The group is the broadcast address.
    /// Blocks come to the peers' socket, which requests the whole buffer.
    bool carries_blocks = false;
    /// The process holds ports (hold_port()) and opens its sockets one after another.
    bool is_holder = false;
};

[[nodiscard]] bool is_broadcast(const Address& group);

/// The flows of a group (docs/protocol, 3.5).
struct GroupFlows {
    Address first;  ///< The address of the first flow.
    std::size_t flows = 1;
    std::size_t rails = 1;  ///< Each has its own group address, consecutive from the first.

    /// The group address and port of a flow: its number is added to the port, and its rail's
    /// number to the address, unless that is the broadcast address.
    [[nodiscard]] Address address(Flow flow) const;
};

/// Bound to `group` (address and port; other sessions of this node may share both) and joined.
[[nodiscard]] Result<UniqueFd> open_group_socket(const Address& group,
                                                 const SocketOptions& options);

/// One such socket for each flow, on the interfaces in turn. Together they have the requested
/// buffer. The interface in `options` is ignored.
[[nodiscard]] Result<std::vector<UniqueFd>> open_flow_sockets(const GroupFlows& flows,
                                                              std::span<const Rail> rails,
                                                              SocketOptions options);

/// The socket of open_group_socket() leaves the group or joins it (again). One that leaves the
/// broadcast address drops what still arrives.
[[nodiscard]] Status change_membership(int socket,
                                       const Address& group,
                                       const std::string& interface,
                                       bool joins);

/// Holds a UDP port of all of this host's IPv4 addresses against processes of other users;
/// receives nothing itself. Sockets of the same user with is_holder can be opened on it. Fails
/// with EADDRINUSE if another program has the port on any address.
[[nodiscard]] Result<UniqueFd> hold_port(std::uint16_t port);

/// Bound to `own` on the first free port of `first` .. `last`; multicast leaves by the
/// interface.
[[nodiscard]] Result<UniqueFd> open_peer_socket(const Address& own,
                                                std::pair<std::uint16_t, std::uint16_t> ports,
                                                const SocketOptions& options);

/// The sockets by which the source sends to the group on each rail except the first.
[[nodiscard]] Result<std::vector<UniqueFd>> open_rail_sockets(
    std::span<const Rail> rails,
    std::pair<std::uint16_t, std::uint16_t> ports,
    SocketOptions options);

/// From now on the kernel fragments datagrams longer than an interface's MTU.
[[nodiscard]] Status allow_fragments(int socket);

/// The receive buffer that the kernel granted, bytes.
[[nodiscard]] std::uint32_t receive_buffer_bytes(int socket);

}  // namespace stage::udp
