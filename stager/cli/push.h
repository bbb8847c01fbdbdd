// Runs `stagecast push` over the daemons.
//
// This node's daemon does the work; the command sends the request, shows progress and waits.
// Ending the command ends the push, as the daemon sees its connection close.
#pragma once

#include "stager/cli/push/push_options.h"

namespace stage {

/// Returns the exit code: 0 all nodes, 1 some of them, 2 none, or one of sysexits.h.
[[nodiscard]] int run_push(const PushOptions& options);

}  // namespace stage
