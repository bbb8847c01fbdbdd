// Provides this node's values for the patterns in a job's names (spec/name_pattern.h).
#pragma once

#include "stager/messages/worker_setup.h"
#include "stager/spec/name_pattern.h"

namespace stage {

[[nodiscard]] NameValues names_of(const WorkerSetup& setup);

}  // namespace stage
