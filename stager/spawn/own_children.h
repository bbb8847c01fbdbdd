// Lists the processes whose parent this process is.
//
// For a subreaper these are the ones that it forked, and what its descendants left behind.
#pragma once

#include <sys/types.h>

#include <vector>

namespace stage {

/// As the kernel has them (CONFIG_PROC_CHILDREN); none where it keeps no list. Of a process
/// with one thread.
[[nodiscard]] std::vector<pid_t> own_children();

}  // namespace stage
