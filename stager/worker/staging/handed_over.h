// Which sockets did the daemon hand over?
#pragma once

#include "stager/messages/worker_setup.h"
#include "stager/worker/broadcast/work.h"

namespace stage {

/// Those that `setup` speaks of, by their numbers. To be called once.
[[nodiscard]] BroadcastSockets handed_over(const WorkerSetup& setup);

}  // namespace stage
