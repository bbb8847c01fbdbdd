// Where does the daemon keep what must not outlive a boot, and is it alone there?
//
// RUN_DIR: its socket, jobs/, hosts/, and a lock that says which daemon is the node's.
#pragma once

#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

#include <string>

namespace stage {

/// Makes the directory (0755, root's) if needed and takes its lock, which the descriptor holds.
/// Fails (Blame::node) if another daemon has it.
[[nodiscard]] Result<UniqueFd> lock_run_directory(const std::string& path);

/// "READY=1" and the like to whoever started us, if it is a service manager that listens
/// (sd_notify(3), without its library).
void notify_service_manager(const std::string& state);

}  // namespace stage
