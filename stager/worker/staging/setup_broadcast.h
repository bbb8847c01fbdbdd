// Which broadcast does a SETUP ask for?
#pragma once

#include "stager/messages/worker_setup.h"
#include "transport/run/broadcast.h"

#include <chrono>

namespace stage {

/// 0 is what the daemon has no word about.
[[nodiscard]] inline std::chrono::milliseconds or_default(std::chrono::milliseconds time,
                                                          std::chrono::milliseconds instead) {
    return time.count() > 0 ? time : instead;
}

/// All but the members, and what follows from their cards. Fails on a group address that is
/// none.
[[nodiscard]] Status follow(const WorkerSetup& setup, BroadcastConfig& config);

}  // namespace stage
