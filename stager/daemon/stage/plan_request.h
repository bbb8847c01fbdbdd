// Decides whether a node takes a job's request from the plan, where no prolog announces it.
//
// slurmd of 22.05 runs no prolog where it remembers an earlier life of the job. The request of
// the root's plugin is in the plan then. The root's daemon is believed as far as slurmctld says
// the same: this life of the job runs on this node, as that user and group.
#pragma once

#include "stager/daemon/tree/plan.h"
#include "stager/slurm/slurm_query.h"

#include <optional>
#include <string>

namespace stage {

/// The plan has a request of this stage: slurmctld may be asked for its job.
[[nodiscard]] bool has_request_of(const StagePlan& plan, const StageKey& key);

/// The request in `plan`, as the prolog of `node` would have announced it; nothing if slurmctld
/// does not say the same, or says nothing.
[[nodiscard]] std::optional<StageRequest> confirmed_request(const StagePlan& plan,
                                                            const std::string& node,
                                                            const Result<SlurmAnswer>& answer);

}  // namespace stage
