// Refuses destinations that a job with a private /tmp could not see.
//
// job_container/tmpfs mounts /tmp and /dev/shm anew for each job, after the prolog: a file
// staged below them is in the node's /tmp, invisible to the job. It is refused at submission,
// where the user can choose another destination.
#pragma once

#include "stager/spec/stage_spec.h"

namespace stage {

/// Fails (Blame::user) for a destination below one of them; for a list also in one of its
/// lines, if the list can be read here. (visibility.h checks again on the node.)
[[nodiscard]] Status check_private_tmp(const StageSpec& spec);

}  // namespace stage
