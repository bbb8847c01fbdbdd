#include "stager/daemon/result/failure_notice.h"

#include "transport/base/log.h"

#include <utility>

namespace stage {
namespace {

/// The prolog waits for slurmctld. If its own time ends meanwhile, it returns, and the batch
/// step asks for the verdict again.
constexpr Duration kTimeout = std::chrono::seconds{5};

}  // namespace

bool is_to_be_requeued(const Config& config, const StageKey& key, Blame blame) {
    return config.on_node_fault == OnNodeFault::requeue && blame != Blame::user &&
           key.step_id == kWholeJob && key.restart < kRequeuesMax;
}

void FailureNotice::report(const StageKey& key,
                           const std::string& why,
                           bool requeue,
                           std::vector<std::string> faulty,
                           OnDone on_done) {
    asker_.ask(
        FailureOrder{.job_id = key.job_id,
                     .restart = key.restart,
                     .requeue = requeue,
                     .faulty = std::move(faulty),
                     .sentence = why.empty() ? why : "stagecast: " + why},
        [this, key, call = std::move(on_done)](const Result<SlurmAnswer>& answer) {
            const auto* job = answer ? std::get_if<SlurmJob>(&*answer) : nullptr;
            if (!answer) {
                log_.info("cannot report to slurmctld why a job's stage failed",
                          {{"job", key.job_id}, {"why", answer.error().sentence()}});
            } else if (job != nullptr && job->state == SlurmJobState::ended) {
                log_.info("requeued a job (OnNodeFault=requeue)",
                          {{"job", key.job_id}, {"restart", key.restart}});
            } else if (job != nullptr && !job->word.empty()) {
                log_.info("cannot requeue a job", {{"job", key.job_id}, {"why", job->word}});
            }
            call();
        },
        kTimeout);
}

}  // namespace stage
