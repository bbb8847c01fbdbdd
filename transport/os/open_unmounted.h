// Opens a directory only if no file system is mounted on it.
//
// A user may mount a file system of their own over any directory of theirs. Its server, a
// process of that user, may never answer, and then any process that asks for as much as the
// owner may waits for ever (fuse(4)). A process that also serves others therefore does not
// enter it.
#pragma once

#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

#include <string>

namespace stage {

/// `name`, one component, in the open directory `above`: no link (errno ELOOP, ENOTDIR with
/// O_DIRECTORY), and no mount point (EXDEV). `flags` as open(2)'s; O_CLOEXEC is added.
[[nodiscard]] UniqueFd open_unmounted(int above, const char* name, int flags);

/// "PATH is a mount point; unmount it", with cause() EXDEV.
[[nodiscard]] Error mount_point(const std::string& path);

}  // namespace stage
