// Takes over the endpoints that the daemon passed to this worker.
#pragma once

#include "stager/messages/worker_setup.h"
#include "transport/fabric/fabric.h"

#include <vector>

namespace stage {

/// Takes the descriptors of all endpoints of `setup`. To be called once.
[[nodiscard]] std::vector<Endpoint> handed_over(const WorkerSetup& setup);

}  // namespace stage
