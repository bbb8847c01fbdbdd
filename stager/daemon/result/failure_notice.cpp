#include "stager/daemon/result/failure_notice.h"

#include "transport/base/log.h"

namespace stage {
namespace {

/// The prolog waits for it. One whose own time ends meanwhile returns, and the batch step asks
/// for the verdict again.
constexpr Duration kPatience = std::chrono::seconds{5};

}  // namespace

bool is_to_be_requeued(const Config& config, const StageKey& key, Blame blame) {
    return config.on_node_fault == OnNodeFault::requeue && blame != Blame::user &&
           key.step_id == kWholeJob && key.restart < kRequeuesMax;
}

void FailureNotice::tell(const StageKey& key,
                         const std::string& why,
                         bool requeue,
                         OnTold on_told) {
    asker_.ask(
        FailureOrder{.job_id = key.job_id,
                     .restart = key.restart,
                     .requeue = requeue,
                     .sentence = "stagecast: " + why},
        [this, key, call = std::move(on_told)](const Result<SlurmAnswer>& answer) {
            const auto* job = answer ? std::get_if<SlurmJob>(&*answer) : nullptr;
            if (!answer) {
                services_.log.info("slurmctld was not told why a job's staging failed",
                                   {{"job", key.job_id}, {"why", answer.error().sentence()}});
            } else if (job != nullptr && job->state == SlurmJobState::ended) {
                services_.log.info("a job is requeued (OnNodeFault=requeue)",
                                   {{"job", key.job_id}, {"restart", key.restart}});
            } else if (job != nullptr && !job->word.empty()) {
                services_.log.info("a job is not requeued",
                                   {{"job", key.job_id}, {"why", job->word}});
            }
            call();
        },
        kPatience);
}

}  // namespace stage
