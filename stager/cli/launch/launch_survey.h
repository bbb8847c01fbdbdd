// Finds out which nodes a launcher can reach, and whether they can take part in a push.
//
// Names are resolved to addresses (except with srun, where Slurm resolves them), then the
// launcher runs a shell on each node, which checks the worker and the destination. A node that
// is down, times out or reports an error is named and excluded.
#pragma once

#include "stager/cli/common/commands.h"
#include "stager/cli/common/launcher.h"
#include "stager/cli/push/push_options.h"
#include "stager/config/config.h"
#include "stager/push/push_targets.h"
#include "transport/base/ip_address.h"

#include <optional>
#include <string>
#include <vector>

namespace stage {

struct LaunchNode : PushTarget {
    std::optional<IpAddress> address = std::nullopt;  ///< Not with srun.
    bool is_own = false;                              ///< This host; not with srun.
};
using LaunchNodes = PushTargets<LaunchNode>;

/// Runs all commands; a signal that ends this command ends them.
[[nodiscard]] Result<std::vector<Ended>> carry_out(const std::vector<Command>& commands,
                                                   CommandLimits limits);

/// The launch of `command` on these nodes.
[[nodiscard]] Launch launch_of(const Config& site,
                               std::vector<std::string> nodes,
                               std::string command);

/// Returns all requested nodes, fit or failed. Fails if no node can be reached at all.
[[nodiscard]] Result<LaunchNodes> survey(const PushOptions& options, const Config& site);

}  // namespace stage
