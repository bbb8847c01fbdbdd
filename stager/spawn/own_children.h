// Lists the processes whose parent this process is.
//
// For a subreaper these are the ones that it forked, and orphans of its descendants.
#pragma once

#include <sys/types.h>

#include <vector>

namespace stage {

/// The kernel's list (CONFIG_PROC_CHILDREN), of a process with one thread; empty if the kernel
/// has no list.
[[nodiscard]] std::vector<pid_t> own_children();

}  // namespace stage
