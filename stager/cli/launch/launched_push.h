// Runs a push where no daemons run, by a launcher.
//
// The launcher (launcher.h) starts the same worker, the engine alone, on every node as the
// calling user, and carries key and business cards (pmix/launch_channel.h). First each node is
// tried: a node that does not answer, has no worker or no directory for the file is reported
// and excluded. The others form one group. If a member fails later it is reported, too, and the
// rest begin another round, as the daemons do.
#pragma once

#include "stager/cli/push/push_options.h"
#include "transport/base/result.h"

#include <nlohmann/json_fwd.hpp>

namespace stage {

/// Blocks until the push has ended or the command got a signal to end. Returns the report for
/// push_report.h; the error is that stagecast.conf cannot be read.
[[nodiscard]] Result<nlohmann::json> push_by_launcher(const PushOptions& options);

}  // namespace stage
