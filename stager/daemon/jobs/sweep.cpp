#include "stager/daemon/jobs/sweep.h"

#include "stager/daemon/base/counters.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/jobs/verdict_store.h"
#include "stager/spawn/cleanup_lists.h"
#include "transport/base/log.h"
#include "transport/base/random_value.h"

#include <algorithm>
#include <cstdlib>

namespace stage {

Sweep::Sweep(const Basics& basics, const VerdictStore& verdicts, Hooks hooks, SweepTimes times)
    : basics_{basics},
      verdicts_{verdicts},
      hooks_{std::move(hooks)},
      times_{times},
      asker_{basics.loop, basics.children},
      alarm_{basics.loop, [this] { begin(); }} {
}

void Sweep::begin() {
    alarm_.set(basics_.loop.now() + drawn(times_.every));
    hooks_.remove_set_aside();
    std::set<std::uint32_t> jobs = jobs_here();
    if (jobs.erase(kPushJob) > 0 && !hooks_.is_here(kPushJob)) {
        hooks_.remove(kPushJob);  // Slurm does not know pushes, and none is running here.
    }
    if (asker_.is_busy()) {
        return;
    }
    const auto asked = due(jobs);
    if (asked.empty()) {
        is_first_ = false;
        is_answered_ = true;
        return;
    }
    asker_.ask(JobsQuestion{asked},
               [this, asked](const Result<SlurmAnswer>& answer) { on_answer(asked, answer); });
}

std::set<std::uint32_t> Sweep::jobs_here() {
    std::set<std::uint32_t> jobs;
    if (const auto root = hooks_.stage_root()) {
        for (const std::string& name : numbered_directories(*root)) {
            jobs.insert(static_cast<std::uint32_t>(std::strtoul(name.c_str(), nullptr, 10)));
        }
        jobs.merge(jobs_with_cleanup_lists(*root));
    }
    for (const StageKey& key : verdicts_.all()) {
        jobs.insert(key.job_id);
    }
    for (const std::uint32_t job_id : verdicts_.rooted()) {
        jobs.insert(job_id);
    }
    return jobs;
}

/// The jobs of which this node itself knows no more, and whose time has come.
std::vector<std::uint32_t> Sweep::due(const std::set<std::uint32_t>& jobs) {
    const Instant now = basics_.loop.now();
    std::erase_if(resting_, [&](const auto& one) { return !jobs.contains(one.first); });
    const auto steps = jobs.empty() ? std::set<std::uint32_t>{} : hooks_.steps();
    std::vector<std::uint32_t> due;
    for (const std::uint32_t job_id : jobs) {
        if (hooks_.is_here(job_id) || steps.contains(job_id) || due.size() == kJobsMax) {
            continue;
        }
        // Its epilog may still come within an hour; if no question was answered yet, an earlier
        // daemon may have missed the epilog.
        const Duration wait = !is_answered_ ? Duration::zero() : drawn(times_.first_rest);
        const auto [rest, is_new] = resting_.try_emplace(job_id, Rest{.until = now + wait});
        if (rest->second.until <= now) {
            due.push_back(job_id);
        }
    }
    return due;
}

void Sweep::on_answer(const std::vector<std::uint32_t>& jobs,
                      const Result<SlurmAnswer>& answer) {
    const auto* jobs_found = answer ? std::get_if<std::vector<SlurmJob>>(&*answer) : nullptr;
    for (std::size_t i = 0;
         jobs_found != nullptr && i < std::min(jobs.size(), jobs_found->size());
         ++i) {
        judge(jobs[i], jobs_found->at(i));
    }
    is_first_ = false;
    is_answered_ = is_answered_ || jobs_found != nullptr;
    if (jobs_found == nullptr) {
        alarm_.set(basics_.loop.now() + drawn(times_.if_silent));
    }
}

void Sweep::judge(std::uint32_t job_id, const SlurmJob& job) {
    if (!is_over(job.state)) {
        Rest& rest = resting_[job_id];
        rest.length = std::clamp(2 * rest.length, times_.first_rest, times_.rest_max);
        rest.until = basics_.loop.now() + drawn(rest.length);
        return;
    }
    resting_.erase(job_id);
    if (!hooks_.is_here(job_id)) {
        ++basics_.counters.directories_swept;
        basics_.log.info("removing what an ended job has left behind",
                         {{"job", job_id}, {"state", job.word}});
        hooks_.remove(job_id);
    }
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

/// Up to a quarter longer, at random: the daemons of a cluster start at the same time.
Duration Sweep::drawn(Duration length) const {
    const auto draw = random_value<std::uint32_t>();
    const double share = static_cast<double>(draw % 1000U) / 4000.0;
    return length + std::chrono::duration_cast<Duration>(length * share);
}

}  // namespace stage
