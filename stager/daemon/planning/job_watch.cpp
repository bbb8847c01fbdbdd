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

Duration next_progress_time(Duration last) {
    using std::chrono::seconds;
    if (last < seconds{10}) {
        return seconds{10};
    }
    return last < seconds{30} ? seconds{30} : std::max<Duration>(seconds{60}, 2 * last);
}

JobWatch::JobWatch(
    Loop& loop, Children& children, const Config& config, StageKey key, Hooks hooks)
    : loop_{loop},
      config_{config},
      key_{key},
      hooks_{std::move(hooks)},
      asker_{loop, children},
      alarm_{loop, [this] { ask(); }} {
}

void JobWatch::look_once(Duration pause) {
    repeats_ = false;
    alarm_.set(loop_.now() + pause);
}

void JobWatch::start(const std::optional<SlurmJob>& known) {
    if (is_over_) {
        return;
    }
    repeats_ = true;
    begun_ = begun_.value_or(loop_.now());
    set_alarm(std::min(kFirstLook, config_.watch_interval));
    if (known) {
        consider(*known);
    }
}

void JobWatch::set_alarm(Duration pause) {
    const auto draw = random_value<std::uint32_t>();
    const std::int64_t most = pause.count() / 5;
    const Duration more{most == 0 ? 0 : static_cast<std::int64_t>(draw) % most};
    Instant next = loop_.now() + pause + more;
    if (reports_progress()) {
        next = std::min(next, std::max(loop_.now(), *begun_ + next_progress_time(reported_)));
    }
    alarm_.set(next);
}

/// Only the job's first node speaks, once slurmctld has confirmed which life of the job this
/// is. A step's srun could be one of many.
bool JobWatch::reports_progress() const {
    return begun_ && seen_ && key_.step_id == kWholeJob;
}

void JobWatch::stop() {
    is_over_ = true;
    alarm_.set(std::nullopt);
}

ProgressOrder JobWatch::order_of(const std::string& sentence) const {
    return {.job_id = key_.job_id,
            .restart = key_.restart,
            .comments = config_.admin_comment,
            .sentence = "stagecast: " + sentence};
}

ProgressOrder JobWatch::last_order(const std::string& sentence) const {
    ProgressOrder order = order_of(sentence);
    order.is_last = true;
    return order;
}

/// The first answer shows which restart of the job this is; from then on its state is enough:
/// the job can't restart while this node's prolog, or a step here, has not ended.
void JobWatch::ask() {
    if (reports_progress() && loop_.now() - *begun_ >= next_progress_time(reported_)) {
        // What was missed while slurmctld was silent is left out.
        while (loop_.now() - *begun_ >= next_progress_time(reported_)) {
            reported_ = next_progress_time(reported_);
        }
        is_reporting_ = true;
        asker_.ask(order_of(hooks_.progress()),
                   [this](const Result<SlurmAnswer>& answer) { on_job(answer); });
    } else if (seen_) {
        asker_.ask(JobsQuestion{{key_.job_id}},
                   [this](const Result<SlurmAnswer>& answer) { on_state(answer); });
    } else {
        asker_.ask(JobStateQuestion{key_.job_id},
                   [this](const Result<SlurmAnswer>& answer) { on_job(answer); });
    }
}

void JobWatch::go_on() {
    if (repeats_ && !is_over_) {
        set_alarm(config_.watch_interval);
    }
    is_reporting_ = false;
    if (auto then = std::exchange(reported_then_, nullptr)) {
        then();
    }
}

void JobWatch::after_report(std::function<void()> then) {
    if (is_reporting_) {
        reported_then_ = std::move(then);
    } else {
        then();
    }
}

void JobWatch::on_job(const Result<SlurmAnswer>& answer) {
    const auto* job = answer ? std::get_if<SlurmJob>(&*answer) : nullptr;
    if (job != nullptr && !is_over_) {
        consider(*job);
    }
    go_on();
}

void JobWatch::on_state(const Result<SlurmAnswer>& answer) {
    const auto* jobs = answer ? std::get_if<std::vector<SlurmJob>>(&*answer) : nullptr;
    if (jobs != nullptr && jobs->size() == 1 && !is_over_) {
        SlurmJob job = jobs->front();
        job.restart_count = key_.restart;
        consider(job);
    }
    go_on();
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
        hooks_.on_over(*why);
    }
}

}  // namespace stage
