// Locks the directory for what must not outlive a boot.
//
// RUN_DIR holds the control socket, jobs/, and a lock that admits one daemon per node. No user
// may write in any directory of it: it lies on the small tmpfs of system services.
#pragma once

#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

#include <string>

namespace stage {

/// Makes the directory (0755, owned by root) if needed and takes its lock, which the descriptor
/// holds. Fails (Blame::node) if another daemon holds the lock.
[[nodiscard]] Result<UniqueFd> lock_run_directory(const std::string& path);

/// Sends "READY=1" and the like to the service manager that started the daemon, if there is one
/// that listens (sd_notify(3), without its library).
void notify_service_manager(const std::string& state);

}  // namespace stage
