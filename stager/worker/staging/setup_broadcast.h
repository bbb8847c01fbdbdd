// Applies a SETUP to a broadcast's configuration.
#pragma once

#include "stager/messages/worker_setup.h"
#include "transport/run/broadcast.h"

#include <chrono>

namespace stage {

/// A time of 0 means that the daemon does not set it.
[[nodiscard]] inline std::chrono::milliseconds or_default(std::chrono::milliseconds time,
                                                          std::chrono::milliseconds instead) {
    return time.count() > 0 ? time : instead;
}

/// Sets all but the members and what follows from their cards.
void follow(const WorkerSetup& setup, BroadcastConfig& config);

}  // namespace stage
