// How does an admin's push run, seen from the terminal?
//
// The node's daemon does it; this command asks, says how far it is, and waits. Whoever ends
// this command ends the push: the daemon sees its connection close.
#pragma once

#include "stager/cli/push/push_options.h"

namespace stage {

/// The exit code: 0 all nodes, 1 some of them, 2 none, or of sysexits.h.
[[nodiscard]] int run_push(const PushOptions& options);

}  // namespace stage
