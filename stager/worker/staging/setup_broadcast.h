// Makes of a SETUP a broadcast's configuration and endpoints.
#pragma once

#include "stager/messages/worker_setup.h"
#include "transport/fabric/fabric.h"
#include "transport/run/broadcast.h"

#include <chrono>
#include <vector>

namespace stage {

/// A time of 0 means that the daemon does not set it.
[[nodiscard]] inline std::chrono::milliseconds or_default(std::chrono::milliseconds time,
                                                          std::chrono::milliseconds instead) {
    return time.count() > 0 ? time : instead;
}

/// Sets all but the members and what follows from their cards.
void follow(const WorkerSetup& setup, BroadcastConfig& config);

/// Takes the descriptors that the daemon passed to this worker for all endpoints of `setup`. To
/// be called once.
[[nodiscard]] std::vector<Endpoint> handed_over(const WorkerSetup& setup);
/// The file of the passage, if the worker has one. To be called once.
[[nodiscard]] UniqueFd passage_file(const WorkerSetup& setup);

}  // namespace stage
