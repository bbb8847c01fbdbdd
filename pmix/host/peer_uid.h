// Whose is the other end of a TCP connection on this machine?
//
// The kernel knows, and says so to sock_diag(7), by the four numbers that name a connection.
// Asked in the network namespace that the question was opened in, even after the process has
// left it.
#pragma once

#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

#include <sys/types.h>

namespace stage::pmix_host {

class PeerUid {
  public:
    /// Fails where the kernel has no such answers.
    [[nodiscard]] static Result<PeerUid> open();

    /// Of the socket that `accepted` (IPv4, loopback) is connected with. Fails if it is gone.
    [[nodiscard]] Result<uid_t> of(int accepted) const;

  private:
    explicit PeerUid(UniqueFd netlink) : netlink_{std::move(netlink)} {}

    UniqueFd netlink_;
};

}  // namespace stage::pmix_host
