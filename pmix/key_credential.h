// Encrypts a group's key for a launcher whose channel others on the network can read: srun's.
//
// The key is in a munge credential that only the own uid may decode; munge runs on every node
// of a Slurm cluster. libmunge gives up on an unresponsive munged after some seconds.
#pragma once

#include "pmix/launch_channel.h"
#include "transport/base/result.h"

#include <string>

namespace stage {

/// Fails (Blame::node) if munge does not answer.
[[nodiscard]] Result<std::string> seal_key(const LaunchKey& key);

/// Opens a credential that the own uid made, any number of times. An error names clocks that
/// differ; a credential of another uid is refused.
[[nodiscard]] Result<LaunchKey> open_key(const std::string& credential);

}  // namespace stage
