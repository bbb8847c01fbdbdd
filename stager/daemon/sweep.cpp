#include "stager/daemon/sweep.h"

#include "stager/spawn/cleanup_lists.h"

#include <cstdlib>
#include <set>

namespace stage {
namespace {

constexpr Duration kSweepEvery = std::chrono::minutes{10};

}  // namespace

Sweep::Sweep(Services& services, StageRoot stage_root, IsHere is_here, Remove remove)
    : services_{services},
      stage_root_{std::move(stage_root)},
      is_here_{std::move(is_here)},
      remove_{std::move(remove)},
      asker_{services},
      alarm_{services.loop, [this] { begin(); }} {
}

void Sweep::begin() {
    alarm_.set(services_.loop.now() + kSweepEvery);
    std::set<std::uint32_t> jobs;
    const auto root = stage_root_();
    for (const std::string& name :
         root ? numbered_directories(*root) : std::vector<std::string>{}) {
        jobs.insert(static_cast<std::uint32_t>(std::strtoul(name.c_str(), nullptr, 10)));
    }
    if (root) {
        jobs.merge(jobs_with_cleanup_lists(*root));
    }
    for (const StageKey& key : services_.verdicts.all()) {
        jobs.insert(key.job_id);
    }
    for (const std::uint32_t job_id : services_.verdicts.rooted()) {
        jobs.insert(job_id);
    }
    unsure_.assign(jobs.begin(), jobs.end());
    if (!asker_.is_busy()) {
        ask_next();
    }
}

void Sweep::ask_next() {
    while (!unsure_.empty() && is_here_(unsure_.front())) {
        unsure_.pop_front();
    }
    if (unsure_.empty()) {
        is_first_ = false;
        return;
    }
    const std::uint32_t job_id = unsure_.front();
    unsure_.pop_front();
    if (job_id == kPushJob) {  // Slurm knows nothing of pushes, and nobody pushes here.
        remove_(job_id);
        ask_next();
        return;
    }
    asker_.ask(JobStateQuestion{job_id}, [this, job_id](const Result<SlurmAnswer>& answer) {
        on_answer(job_id, answer);
    });
}

void Sweep::on_answer(std::uint32_t job_id, const Result<SlurmAnswer>& answer) {
    if (!answer) {
        unsure_.clear();  // A silent slurmctld: the next sweep asks again.
        is_first_ = false;
        return;
    }
    const auto* job = std::get_if<SlurmJob>(&*answer);
    if (job != nullptr && is_over(job->state) && !is_here_(job_id)) {
        ++services_.counters.directories_swept;
        services_.log.info("sweeping what an ended job left",
                           {{"job", job_id}, {"state", job->word}});
        remove_(job_id);
    }
    ask_next();
}

bool Sweep::is_over(SlurmJobState state) const {
    switch (state) {
        case SlurmJobState::ended:
        case SlurmJobState::absent:
            return true;
        case SlurmJobState::completing:
            return is_first_;
        case SlurmJobState::alive:
        case SlurmJobState::suspended:
            break;
    }
    return false;
}

}  // namespace stage
