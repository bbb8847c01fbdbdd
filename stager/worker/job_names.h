// Gives the patterns in a job's names (control/name_pattern.h) their values on this node.
#pragma once

#include "stager/control/name_pattern.h"
#include "stager/worker/setup.h"

namespace stage {

[[nodiscard]] NameValues names_of(const WorkerSetup& setup);

}  // namespace stage
