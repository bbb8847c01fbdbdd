// How does the host cut itself off from strangers, and from root?
//
// Its PMIx listener is a TCP port on loopback that every local user may connect to, and
// PMIx 4.2 serves connections one after the other, blocking: a silent one stops it, three bad
// logins break it. In a network namespace of its own nobody else can connect at all. And before
// the first byte of a worker is parsed the process is the worker's user.
#pragma once

#include "pmix/host_message.h"

#include <string>

namespace stage::pmix_host {

/// A new network namespace with nothing in it but `lo`, which is down. Before any thread is
/// started.
[[nodiscard]] Status leave_network();
[[nodiscard]] Status raise_loopback();

/// The directory becomes the user's, then every thread of the process does, with no other group
/// and without a way back. Refuses to become root. A process that is the user already, as in a
/// test without privileges, stays what it is.
[[nodiscard]] Status become(const HostJob& job, const std::string& directory);

/// What a host needs at most, so that a hostile worker's Puts fail here and not on the node.
[[nodiscard]] Status limit_memory(std::uint64_t bytes_max);

/// munged answers. Without it PMIx' server ends in a page of help.
[[nodiscard]] Status munge_answers();

}  // namespace stage::pmix_host
