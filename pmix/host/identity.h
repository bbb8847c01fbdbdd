// Isolates the PMIx host from the node's other users and from root.
//
// Its PMIx listener is a TCP port on loopback that every local user may connect to, and PMIx
// 4.2 serves connections one after the other, blocking: a silent one stops it, three bad logins
// break it. In a network namespace of its own no other process can connect. The namespace is
// made together with a user namespace, so that no capability is needed (decisions/0035), and
// before libpmix runs: a spare is root of that namespace only and, on the node, an unprivileged
// uid. Before the first byte of a worker is parsed the process has the worker's uid.
#pragma once

#include "pmix/host_message.h"

#include <string>

namespace stage::pmix_host {

/// The uid and gid on the node with which a spare waits for its job. Neither may be root's or a
/// job's: a job of this uid is not served.
struct SpareUser {
    std::uint32_t uid = 65'534;
    std::uint32_t gid = 65'534;

    [[nodiscard]] bool is_sound() const {
        constexpr std::uint32_t kLast = 0xffff'fffe - 1;
        return uid > 1 && gid > 1 && uid <= kLast && gid <= kLast;
    }
};

/// Changes from root on the node to root in new user and network namespaces, with loopback only
/// and no capability but changing the uid. Gives `directory` to the spare. Call before any
/// thread is started; after a failure the process must exit.
[[nodiscard]] Status leave_node(const SpareUser& spare, const std::string& directory);

/// Changes every thread of the process to the user, without supplementary groups and
/// irreversibly. Refuses to become root. A process that already has this uid, as in a test
/// without privileges, is left unchanged.
[[nodiscard]] Status become(const HostJob& job);

/// Limits the process's memory, so that a hostile worker's Puts fail here and do not exhaust
/// the node.
[[nodiscard]] Status limit_memory(std::uint64_t bytes_max);

/// Fails if munged does not answer; without it PMIx' server exits with a page of help.
[[nodiscard]] Status munge_answers();

}  // namespace stage::pmix_host
