// Opens files for reading as cp(1) does, but without ever waiting for a pipe.
//
// Another process may hold a lease on a file (fcntl F_SETLEASE): Samba for its oplocks, knfsd
// for its delegations. The kernel asks it to give the lease back, and open(2) waits meanwhile.
// With O_NONBLOCK, which a pipe requires, open(2) fails instead; then it is repeated for a
// limited time.
#pragma once

#include "transport/os/unique_fd.h"

#include <fcntl.h>

#include <string>

namespace stage {

/// Opens `name` in the directory `at` for reading; `flags` are added. Empty, with errno, if
/// that fails: EWOULDBLOCK if another process keeps its lease.
[[nodiscard]] UniqueFd open_to_read(int at, const std::string& name, int flags = 0);
[[nodiscard]] inline UniqueFd open_to_read(const std::string& path) {
    return open_to_read(AT_FDCWD, path);
}

}  // namespace stage
