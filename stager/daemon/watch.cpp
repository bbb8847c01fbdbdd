#include "stager/daemon/watch.h"

namespace stage {

std::optional<std::string> reason_to_stop(const StageKey& key, const SlurmJob& job) {
    switch (job.state) {
        case SlurmJobState::absent:
            return "Slurm knows no such job any more";
        case SlurmJobState::ended:
        case SlurmJobState::suspended:
        case SlurmJobState::completing:
            return "the job is not running any more (" + job.word + ")";
        case SlurmJobState::alive:
            break;
    }
    if (job.restart_count != key.restart) {
        return "the job was requeued";
    }
    return std::nullopt;
}

Watch::Watch(Services& services, StageKey key, OnOver on_over)
    : services_{services},
      key_{key},
      on_over_{std::move(on_over)},
      asker_{services},
      alarm_{services.loop, [this] { ask(); }} {
}

void Watch::start() {
    stopped_ = false;
    alarm_.set(services_.loop.now() + services_.config.watch_interval);
}

void Watch::stop() {
    stopped_ = true;
    alarm_.set(std::nullopt);
}

void Watch::ask() {
    asker_.ask(JobStateQuestion{key_.job_id},
               [this](const Result<SlurmAnswer>& answer) { on_answer(answer); });
}

void Watch::on_answer(const Result<SlurmAnswer>& answer) {
    if (stopped_) {
        return;
    }
    const SlurmJob* job = answer ? std::get_if<SlurmJob>(&*answer) : nullptr;
    // An srun from outside of the job does not know which life of it this is.
    if (!seen_ && job != nullptr && key_.step_id != kWholeJob) {
        key_.restart = job->restart_count;
    }
    // One that Slurm has never known is srun -Z's: nobody can take it away.
    seen_ = seen_ || (job != nullptr && job->state != SlurmJobState::absent);
    const auto why = job != nullptr && seen_ ? reason_to_stop(key_, *job) : std::nullopt;
    if (why) {
        stop();
        on_over_(*why);
        return;
    }
    alarm_.set(services_.loop.now() + services_.config.watch_interval);
}

}  // namespace stage
