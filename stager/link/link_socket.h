// Makes the TCP sockets of links.
//
// A connector's socket has a source port that only root can bind, if one is free: the listener
// at the other end evicts such connections last. Closing it is a reset, so that its port is
// free at once.
#pragma once

#include "transport/base/address.h"
#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/os/unique_fd.h"

#include <cstdint>

namespace stage {

/// Source ports from here on can be bound by any user; those below only by root. Connectors use
/// one of root's if possible, and Listener evicts such connections last. The port proves
/// nothing.
inline constexpr std::uint16_t kUnprivilegedPorts = 1024;

/// Sets what the socket of each link has: small writes leave at once, and a peer that is silent
/// for `silence_max` is lost.
void prepare_link_socket(int socket, Duration silence_max);

struct BegunConnection {
    UniqueFd socket;
    int cause = 0;  ///< The errno of connect(2): 0, EINPROGRESS, or why it has failed.
};
/// Begins to connect by a nonblocking socket. Fails if no socket can be opened.
[[nodiscard]] Result<BegunConnection> begin_to_connect(const Address& to, Duration silence_max);

}  // namespace stage
