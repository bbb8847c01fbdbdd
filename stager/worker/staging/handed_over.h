// Takes over the sockets that the daemon passed to this worker.
#pragma once

#include "stager/messages/worker_setup.h"
#include "stager/worker/broadcast/work.h"

namespace stage {

/// Takes the descriptors whose numbers `setup` contains. To be called once.
[[nodiscard]] BroadcastSockets handed_over(const WorkerSetup& setup);

}  // namespace stage
