// Who announces a requeued job on a node where Slurm leaves its prolog out? The part of Stage
// that does.
//
// slurmd of 22.05 runs no prolog where it remembers an earlier life of the job. The request of
// the root's plugin is in the plan then. The root's daemon is believed as far as slurmctld says
// the same: this life of the job runs on this node, as that user and group.
#include "stager/daemon/stage/stage.h"
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

bool Stage::may_announce_itself() const {
    return plan_ && plan_->request && plan_->request->key == key_ && !has_asked_;
}

void Stage::announce_itself() {
    has_asked_ = true;
    wait_alarm_.set(services_.loop.now() + kSlurmAnswerMax);
    canceller_.ask(JobStateQuestion{key_.job_id},
                   [this](const Result<SlurmAnswer>& answer) { on_job_of_plan(answer); });
}

void Stage::on_job_of_plan(const Result<SlurmAnswer>& answer) {
    if (state_ != StageState::held) {
        return;
    }
    const std::string own = name_of_self();
    const auto* job = answer ? std::get_if<SlurmJob>(&*answer) : nullptr;
    if (job == nullptr || !is_same_job(*job, *plan_->request, own)) {
        on_late();
        return;
    }
    services_.log.info(
        "no prolog has announced a requeued job here; it is staged by the first node's word",
        {{"job", key_.job_id}, {"restart", key_.restart}});
    StageRequest request = *plan_->request;
    request.node_name = own;
    announce(request, [](const Verdict&) {});
}

}  // namespace stage
