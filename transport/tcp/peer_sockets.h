// Opens a member's two unicast sockets on one port: UDP, and TCP to listen.
#pragma once

#include "transport/base/address.h"
#include "transport/base/result.h"
#include "transport/os/unique_fd.h"
#include "transport/udp/sockets.h"

#include <cstdint>
#include <utility>

namespace stage::tcp {

struct PeerSockets {
    UniqueFd datagrams;  ///< See udp::open_peer_socket().
    UniqueFd listener;   ///< See open_listener().
};

/// On the first port of `first` .. `last` that is free for both.
[[nodiscard]] Result<PeerSockets> open_peer_sockets(
    const Address& own,
    std::pair<std::uint16_t, std::uint16_t> ports,
    const udp::SocketOptions& options);

}  // namespace stage::tcp
