// Would a job with a /tmp of its own see what is to be staged?
//
// job_container/tmpfs mounts /tmp and /dev/shm anew for each job, after the prolog: a file that
// was staged below them lies in the node's, where the job never looks. So it is refused here,
// where the user still can choose another place.
#pragma once

#include "stager/spec/stage_spec.h"

namespace stage {

/// Fails (Blame::user) for a destination below either, of a list for one of its lines: as far
/// as the list can be read here. (visibility.h looks again on the node.)
[[nodiscard]] Status check_private_tmp(const StageSpec& spec);

}  // namespace stage
