#include "stager/daemon/planning/requeued_request.h"

#include "stager/slurm/host_list.h"

namespace stage {
namespace {

bool is_same_job(const SlurmJob& job, const StageRequest& request) {
    const bool is_alive =
        job.state == SlurmJobState::alive || job.state == SlurmJobState::suspended;
    return is_alive && job.restart_count == request.key.restart && job.uid == request.uid &&
           job.gid == request.gid;
}

}  // namespace

bool may_lack_prolog(const StageKey& key) {
    return key.step_id == kWholeJob && key.restart > 0;
}

bool is_request_of(const std::optional<StageRequest>& request, const StageKey& key) {
    return request && request->key == key && may_lack_prolog(key);
}

std::optional<StageRequest> confirmed_request(const StageRequest& request,
                                              const std::string& sender,
                                              const std::string& node,
                                              const Result<SlurmAnswer>& answer) {
    const auto* job = answer ? std::get_if<SlurmJob>(&*answer) : nullptr;
    if (job == nullptr || !is_same_job(*job, request)) {
        return std::nullopt;
    }
    const auto nodes = expand_host_list(job->node_list);
    if (!nodes || !position_of(*nodes, node) || !position_of(*nodes, sender)) {
        return std::nullopt;
    }
    StageRequest confirmed = request;
    confirmed.node_name = node;
    confirmed.is_late = false;
    return confirmed;
}

}  // namespace stage
