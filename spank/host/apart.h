// How does a prolog survive our own mistakes?
//
// A prolog that dies of a signal drains its node and holds the job. So what a prolog does for
// us is done in a forked child, and the parent waits for it within a limit of its own. What
// became of it comes back as a sentence for slurmd's log; for Slurm it always went well.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"

#include <functional>

namespace stage {

/// Runs `work` in a child with /dev/null on whichever of 0, 1, 2 is closed. Fails with the
/// work's own error, or (Blame::internal) when the child crashed, or was killed after `limit`.
/// Requires a caller without other threads. `work` must not outlive its process: no fork of its
/// own.
[[nodiscard]] Status run_in_child(const std::function<Status()>& work, Duration limit);

}  // namespace stage
