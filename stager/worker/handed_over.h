// Which sockets did the daemon hand over?
#pragma once

#include "stager/worker/setup.h"
#include "stager/worker/work.h"

namespace stage {

/// Those that `setup` speaks of, by their numbers. To be called once.
[[nodiscard]] BroadcastSockets handed_over(const WorkerSetup& setup);

}  // namespace stage
