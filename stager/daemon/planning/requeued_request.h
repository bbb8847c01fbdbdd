// Decides whether a node takes a requeued job's request from the daemon of another node.
//
// slurmd of 22.05 runs no prolog where it remembers an earlier run of the job, so that no
// plugin announces the job there. The request of another node's plugin comes in the plan, or to
// the job's first node in a question of a node that waits. That node's daemon is believed as
// far as slurmctld says the same: this run of the job runs on both nodes, as that user and
// group.
#pragma once

#include "stager/daemon/tree/plan.h"
#include "stager/slurm/slurm_query.h"

#include <optional>
#include <string>

namespace stage {

/// Requests of this stage are sent to nodes without a prolog.
[[nodiscard]] bool may_lack_prolog(const StageKey& key);

/// `request` is of this stage: slurmctld may be asked for its job.
[[nodiscard]] bool is_request_of(const std::optional<StageRequest>& request,
                                 const StageKey& key);

/// `request`, which the daemon of node `sender` has sent, as the prolog of `node` would have
/// announced it; nothing if slurmctld does not say the same, or says nothing.
[[nodiscard]] std::optional<StageRequest> confirmed_request(const StageRequest& request,
                                                            const std::string& sender,
                                                            const std::string& node,
                                                            const Result<SlurmAnswer>& answer);

}  // namespace stage
