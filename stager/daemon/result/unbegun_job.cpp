#include "stager/daemon/result/unbegun_job.h"

#include "transport/base/log.h"

#include <utility>

namespace stage {
namespace {

/// From the last prolog's time until the job is cancelled,
constexpr Duration kBeginMax = std::chrono::seconds{5};
/// and until slurmctld is asked again that did not answer.
constexpr Duration kAskAgain = std::chrono::seconds{30};

}  // namespace

UnbegunJob::UnbegunJob(Loop& loop,
                       Children& children,
                       const Config& config,
                       const Logger& log,
                       StageKey key,
                       OnDone on_done)
    : loop_{loop},
      config_{config},
      log_{log},
      key_{key},
      on_done_{std::move(on_done)},
      asker_{loop, children},
      alarm_{loop, [this] { cancel(); }} {
}

void UnbegunJob::await(Instant latest, std::string reason) {
    is_awaited_ = true;
    reason_ = std::move(reason);
    alarm_.set(latest + kBeginMax);
}

void UnbegunJob::stop() {
    is_awaited_ = false;
    alarm_.set(std::nullopt);
}

void UnbegunJob::cancel() {
    asker_.ask(CancelOrder{.job_id = key_.job_id,
                           .step_id = std::nullopt,
                           .restart = key_.restart,
                           .sentence = "stagecast: " + reason_,
                           .comments = config_.admin_comment,
                           .only_in_prolog = true},
               [this](const Result<SlurmAnswer>& answer) { on_answer(answer); });
}

void UnbegunJob::on_answer(const Result<SlurmAnswer>& answer) {
    if (!answer && is_awaited_) {
        alarm_.set(loop_.now() + kAskAgain);
        return;
    }
    const auto* job = answer ? std::get_if<SlurmJob>(&*answer) : nullptr;
    if (job != nullptr && job->state == SlurmJobState::ended) {
        log_.warn("a failed job is cancelled: Slurm awaits a prolog that never came",
                  {{"job", key_.job_id}, {"why", reason_}});
    }
    is_awaited_ = false;
    on_done_();
}

}  // namespace stage
