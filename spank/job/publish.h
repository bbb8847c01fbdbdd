// What does a job see of its stage, in its environment?
//
// Where its directory and its files are, whether all of them are there, and by LD_LIBRARY_PATH
// what leads its programs to their libraries (decisions/0040).
#pragma once

#include "spank/host/spank_handle.h"
#include "stager/control/message.h"

#include <optional>

namespace stage {

/// `job`, `step`: what the job and what the step of it staged, if they did. `has_failed`: one
/// of them is not as it should be, and no task will start.
void publish(SpankHandle& handle,
             const std::optional<Verdict>& job,
             const std::optional<Verdict>& step,
             bool has_failed);

}  // namespace stage
