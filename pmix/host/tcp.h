// Opens TCP sockets for the gate: a listener, what it accepts, and connections to the server
// inside.
#pragma once

#include "transport/base/ip_address.h"
#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

namespace stage::pmix_host {

/// Listens on `address`; port 0: one that the kernel chooses. The error names both.
[[nodiscard]] Result<UniqueFd> listen_tcp(const IpAddress& address, std::uint16_t port);

/// Accepts the next pending connection, non-blocking; no socket if there is none.
[[nodiscard]] UniqueFd accept_tcp(const UniqueFd& listener);

/// Starts a connection. The socket becomes writable when it is established or has failed.
[[nodiscard]] Result<UniqueFd> begin_connect(const IpAddress& address, std::uint16_t port);

}  // namespace stage::pmix_host
