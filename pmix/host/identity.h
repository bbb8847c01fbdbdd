// Cuts the host off from the node's other users, and from root.
//
// Its PMIx listener is a TCP port on loopback that every local user may connect to, and
// PMIx 4.2 serves connections one after the other, blocking: a silent one stops it, three bad
// logins break it. In a network namespace of its own no other process can connect at all. It is
// made together with a user namespace, so that no capability is needed for it (decisions/0035),
// and before libpmix runs: a spare is root of that namespace alone and, on the node, an
// unprivileged uid. Before the first byte of a worker is parsed the process is the worker's
// user.
#pragma once

#include "pmix/host_message.h"

#include <string>

namespace stage::pmix_host {

/// As which uid and gid of the node a spare waits for its job. Neither is root's, nor of a job:
/// a job of this very uid is not served.
struct SpareUser {
    std::uint32_t uid = 65'534;
    std::uint32_t gid = 65'534;

    [[nodiscard]] bool is_sound() const {
        constexpr std::uint32_t kLast = 0xffff'fffe - 1;
        return uid > 1 && gid > 1 && uid <= kLast && gid <= kLast;
    }
};

/// From root of the node to root of namespaces of its own, with nothing in the network but
/// loopback and no right left but to become another uid. `directory` is the spare's from now
/// on. Before any thread is started; after a failure the process is fit for nothing.
[[nodiscard]] Status leave_node(const SpareUser& spare, const std::string& directory);

/// Every thread of the process becomes the user, with no other group and without a way back.
/// Refuses to become root. A process that is the user already, as in a test without privileges,
/// stays what it is.
[[nodiscard]] Status become(const HostJob& job);

/// What a host needs at most, so that a hostile worker's Puts fail here and not on the node.
[[nodiscard]] Status limit_memory(std::uint64_t bytes_max);

/// munged answers. Without it PMIx' server ends in a page of help.
[[nodiscard]] Status munge_answers();

}  // namespace stage::pmix_host
