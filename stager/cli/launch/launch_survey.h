// Which of the nodes can a launcher reach, and have they what a push needs?
//
// Names become addresses (Slurm's are Slurm's to know: srun), then each node is tried by the
// launcher itself: a shell there looks for the worker and at the destination. Who is down, does
// not answer in time or complains is named and out.
#pragma once

#include "stager/cli/common/commands.h"
#include "stager/cli/common/launcher.h"
#include "stager/cli/push/push_options.h"
#include "stager/config/config.h"
#include "transport/base/ip_address.h"

#include <optional>
#include <string>
#include <vector>

namespace stage {

struct LaunchNode {
    enum class State : unsigned char { waiting, fit, done, failed };

    std::string name;
    std::optional<IpAddress> address = std::nullopt;  ///< Not with srun.
    bool is_own = false;                              ///< This host; not with srun.
    State state = State::waiting;
    std::string why = {};  ///< Why it failed.
    bool differs = false;  ///< It was compared: what lies there is other content.
};

/// Runs them all; what tells this command to end ends them.
[[nodiscard]] Result<std::vector<Ended>> carry_out(const std::vector<Command>& commands,
                                                   CommandLimits limits);

/// `command` on these nodes.
[[nodiscard]] Launch launch_of(const Config& site,
                               std::vector<std::string> nodes,
                               std::string command);

/// All that are asked for, fit or failed; with srun in the order of its tasks. Fails if nothing
/// at all can be done.
[[nodiscard]] Result<std::vector<LaunchNode>> survey(const PushOptions& options,
                                                     const Config& site);

}  // namespace stage
