#include "stager/daemon/stage/plan_request.h"

#include "stager/slurm/host_list.h"

namespace stage {
namespace {

bool is_same_job(const SlurmJob& job, const StageRequest& request, const std::string& node) {
    const bool is_alive =
        job.state == SlurmJobState::alive || job.state == SlurmJobState::suspended;
    const auto nodes = expand_host_list(job.node_list);
    return is_alive && job.restart_count == request.key.restart && job.uid == request.uid &&
           job.gid == request.gid && nodes && position_of(*nodes, node).has_value();
}

}  // namespace

bool has_request_of(const StagePlan& plan, const StageKey& key) {
    return plan.request && plan.request->key == key;
}

std::optional<StageRequest> confirmed_request(const StagePlan& plan,
                                              const std::string& node,
                                              const Result<SlurmAnswer>& answer) {
    const auto* job = answer ? std::get_if<SlurmJob>(&*answer) : nullptr;
    if (job == nullptr || !plan.request || !is_same_job(*job, *plan.request, node)) {
        return std::nullopt;
    }
    StageRequest request = *plan.request;
    request.node_name = node;
    return request;
}

}  // namespace stage
