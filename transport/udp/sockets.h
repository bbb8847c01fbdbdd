// How are a session's UDP sockets opened?
//
// One a flow is bound to the group's address and port and joined on the interface that the site
// named; one is bound to the node's own address, sends everything and hears what peers say. Of
// several rails (rails.h) each but the first has one more at the source, which sends to the
// group only. The daemon opens them as root (buffers beyond rmem_max) and passes them to the
// worker; the engine alone opens them with what its user may have. No multicast leaves another
// interface; nothing is looped back (IP_MULTICAST_LOOP=0) and nothing joined by others is heard
// (IP_MULTICAST_ALL=0).
#pragma once

#include "transport/base/address.h"
#include "transport/base/result.h"
#include "transport/os/unique_fd.h"
#include "transport/udp/rails.h"

#include <cstdint>
#include <span>
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
    /// The process holds ports (hold_port()) and opens its sockets one after another.
    bool is_holder = false;
};

/// Which flows a group has (docs/protocol, 3.5).
struct GroupFlows {
    Address first;  ///< Of the first flow.
    std::size_t flows = 1;
    std::size_t rails = 1;  ///< Neighbouring addresses, one for each.

    /// Where the group hears a flow: as many ports on, and its rail's number of addresses.
    [[nodiscard]] Address address(Flow flow) const;
};

/// Bound to `group` (address and port; other sessions of this node may share both) and joined.
[[nodiscard]] Result<UniqueFd> open_group_socket(const Address& group,
                                                 const SocketOptions& options);

/// One such a flow, on the interfaces in turn, together with the buffer that was asked for.
/// `options`' interface does not count.
[[nodiscard]] Result<std::vector<UniqueFd>> open_flow_sockets(const GroupFlows& flows,
                                                              std::span<const Rail> rails,
                                                              SocketOptions options);

/// The socket of open_group_socket() leaves the group, or joins it (again).
[[nodiscard]] Status change_membership(int socket,
                                       const Address& group,
                                       const std::string& interface,
                                       bool joins);

/// Keeps a UDP port of all of this host's IPv4 addresses from processes of other users, and
/// hears nothing itself. The same user's sockets with is_holder can be opened on it. Fails with
/// EADDRINUSE where another program has it on any address.
[[nodiscard]] Result<UniqueFd> hold_port(std::uint16_t port);

/// Bound to `own` on the first free port of `first` .. `last`; multicast leaves by the
/// interface.
[[nodiscard]] Result<UniqueFd> open_peer_socket(const Address& own,
                                                std::pair<std::uint16_t, std::uint16_t> ports,
                                                const SocketOptions& options);

/// By which the source sends to the group by each rail but the first. As above.
[[nodiscard]] Result<std::vector<UniqueFd>> open_rail_sockets(
    std::span<const Rail> rails,
    std::pair<std::uint16_t, std::uint16_t> ports,
    SocketOptions options);

/// The interface that carries `address`.
[[nodiscard]] Result<std::string> interface_of(const Address& address);
/// Its MTU, bytes.
[[nodiscard]] Result<std::uint32_t> interface_mtu(const std::string& interface);

/// From now on the kernel cuts what is longer than an interface's MTU.
[[nodiscard]] Status allow_fragments(int socket);

/// Where the socket is bound.
[[nodiscard]] Result<Address> bound_address(int socket);
/// What the kernel granted for receiving, bytes.
[[nodiscard]] std::uint32_t receive_buffer_bytes(int socket);

}  // namespace stage::udp
