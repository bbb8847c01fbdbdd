// Runs the plugin's part of a prolog in a child process, so that a crash cannot fail the
// prolog.
//
// A prolog that dies of a signal drains its node and holds the job. The work therefore runs in
// a forked child, for which the parent waits with a time limit. Its result becomes an error for
// slurmd's log; for Slurm the hook always succeeds.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"

#include <functional>

namespace stage {

/// Runs `work` in a child, with /dev/null on those of the descriptors 0, 1 and 2 that are
/// closed. Fails with the work's own error, or (Blame::internal) when the child crashed or was
/// killed after `limit`. Requires a caller without other threads. `work` must not fork.
[[nodiscard]] Status run_in_child(const std::function<Status()>& work, Duration limit);

}  // namespace stage
