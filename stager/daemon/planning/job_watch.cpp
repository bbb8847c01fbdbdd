#include "stager/daemon/planning/job_watch.h"

#include "stager/daemon/base/loop.h"
#include "transport/base/random_value.h"

#include <algorithm>

namespace stage {

std::optional<std::string> reason_to_stop(const StageKey& key, const SlurmJob& job) {
    switch (job.state) {
        case SlurmJobState::absent:
            return "Slurm no longer knows the job";
        case SlurmJobState::ended:
        case SlurmJobState::completing:
            return "the job is no longer running (" + job.word + ")";
        case SlurmJobState::suspended:  // It continues when it is resumed.
        case SlurmJobState::alive:
            break;
    }
    if (job.restart_count != key.restart) {
        return "the job was requeued";
    }
    return std::nullopt;
}

JobWatch::JobWatch(
    Loop& loop, Children& children, const Config& config, StageKey key, OnOver on_over)
    : loop_{loop},
      config_{config},
      key_{key},
      on_over_{std::move(on_over)},
      asker_{loop, children},
      alarm_{loop, [this] { ask(); }} {
}

void JobWatch::look_once(Duration pause) {
    stopped_ = false;
    repeats_ = false;
    alarm_.set(loop_.now() + pause);
}

void JobWatch::start(const std::optional<SlurmJob>& known) {
    stopped_ = false;
    repeats_ = true;
    set_alarm(std::min(kFirstLook, config_.watch_interval));
    if (known) {
        consider(*known);
    }
}

void JobWatch::set_alarm(Duration pause) {
    const auto draw = random_value<std::uint32_t>();
    const std::int64_t most = pause.count() / 5;
    const Duration more{most == 0 ? 0 : static_cast<std::int64_t>(draw) % most};
    alarm_.set(loop_.now() + pause + more);
}

void JobWatch::stop() {
    stopped_ = true;
    alarm_.set(std::nullopt);
}

/// The first answer shows which restart of the job this is; from then on its state is enough:
/// the job can't restart while this node's prolog, or a step here, has not ended.
void JobWatch::ask() {
    const SlurmQuestion question = seen_ ? SlurmQuestion{JobsQuestion{{key_.job_id}}}
                                         : SlurmQuestion{JobStateQuestion{key_.job_id}};
    asker_.ask(question, [this](const Result<SlurmAnswer>& answer) { on_answer(answer); });
}

void JobWatch::on_answer(const Result<SlurmAnswer>& answer) {
    if (stopped_) {
        return;
    }
    if (repeats_) {
        set_alarm(config_.watch_interval);
    }
    if (const auto* job = answer ? std::get_if<SlurmJob>(&*answer) : nullptr) {
        consider(*job);
        return;
    }
    const auto* jobs = answer ? std::get_if<std::vector<SlurmJob>>(&*answer) : nullptr;
    if (jobs != nullptr && jobs->size() == 1) {
        SlurmJob job = jobs->front();
        job.restart_count = key_.restart;
        consider(job);
    }
}

void JobWatch::consider(const SlurmJob& job) {
    // An srun from outside of the job does not know the job's restart count.
    if (!seen_ && key_.step_id != kWholeJob) {
        key_.restart = job.restart_count;
    }
    // A job that Slurm has never known is that of srun -Z: it can't be cancelled.
    seen_ = seen_ || job.state != SlurmJobState::absent;
    const auto why = seen_ ? reason_to_stop(key_, job) : std::nullopt;
    if (why) {
        stop();
        on_over_(*why);
    }
}

}  // namespace stage
