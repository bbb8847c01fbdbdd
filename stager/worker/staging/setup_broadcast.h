// Makes of a SETUP a member's plan and endpoints.
#pragma once

#include "stager/messages/worker_setup.h"
#include "stager/worker/broadcast/broadcast_member.h"

#include <chrono>
#include <vector>

namespace stage {

/// Limit of a stage and of its wire-up, if the daemon does not set it.
inline constexpr std::chrono::milliseconds kTimeoutUnset = std::chrono::seconds{600};

/// A time of 0 means that the daemon does not set it.
[[nodiscard]] inline std::chrono::milliseconds or_default(std::chrono::milliseconds time,
                                                          std::chrono::milliseconds instead) {
    return time.count() > 0 ? time : instead;
}

/// All that is known of a member before the cards are. Fails (Blame::internal) if the group's
/// address is none.
[[nodiscard]] Result<MemberPlan> member_plan(const WorkerSetup& setup);

/// Takes the descriptors that the daemon passed to this worker for all endpoints of `setup`. To
/// be called once.
[[nodiscard]] std::vector<Endpoint> handed_over(const WorkerSetup& setup);
/// The file of the passage, if the worker has one. To be called once.
[[nodiscard]] UniqueFd passage_file(const WorkerSetup& setup);

}  // namespace stage
