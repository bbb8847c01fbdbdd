// Sets the environment variables that describe a job's staged files to its tasks.
//
// They give the directory, the files and the status, and LD_LIBRARY_PATH leads programs to
// their staged libraries (decisions/0040).
#pragma once

#include "spank/host/spank_handle.h"
#include "stager/control/message.h"

#include <optional>

namespace stage {

/// `job`, `step`: the results of the job's and of the step's own stage, if there are any.
/// `has_failed`: one of them failed, and no task will start.
void publish(SpankHandle& handle,
             const std::optional<Verdict>& job,
             const std::optional<Verdict>& step,
             bool has_failed);

}  // namespace stage
