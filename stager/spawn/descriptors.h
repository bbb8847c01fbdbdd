// Sends and receives messages together with open descriptors.
//
// A message uses SCM_RIGHTS on a SOCK_SEQPACKET pair; it arrives whole or is refused.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/os/unique_fd.h"

#include <span>
#include <vector>

namespace stage {

/// Never blocks: a full socket is an error. `fds` are borrowed, at most kSpawnFdsMax.
Status send_with_descriptors(int socket, Bytes message, std::span<const int> fds);

struct Received {
    std::vector<std::byte> message;
    std::vector<UniqueFd> fds;  ///< Close-on-exec.
    bool ended = false;         ///< The other end is closed.
};
/// Blocks until there is a message. A longer one than kSpawnRequestMax, or one with more
/// descriptors than kSpawnFdsMax, is an error.
Result<Received> receive_with_descriptors(int socket);

Status set_nonblocking(int fd);

}  // namespace stage
