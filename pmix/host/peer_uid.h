// Asks the kernel for the uid at the other end of a local TCP connection.
//
// It uses sock_diag(7) with the connection's addresses and ports. The netlink socket answers
// for the network namespace in which it was opened, even after the process has left it.
#pragma once

#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

#include <sys/types.h>

namespace stage::pmix_host {

class PeerUid {
  public:
    /// Fails where the kernel does not support sock_diag.
    [[nodiscard]] static Result<PeerUid> open();

    /// Returns the uid of the socket that `accepted` (IPv4, loopback) is connected to. Fails if
    /// the peer has closed it.
    [[nodiscard]] Result<uid_t> of(int accepted) const;

  private:
    explicit PeerUid(UniqueFd netlink) : netlink_{std::move(netlink)} {}

    UniqueFd netlink_;
};

}  // namespace stage::pmix_host
