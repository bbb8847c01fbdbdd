#include "stager/daemon/cleaner.h"

#include <algorithm>

namespace stage {
namespace {

constexpr Duration kSweepEvery = std::chrono::minutes{10};

}  // namespace

Cleaner::Cleaner(Services& services, StageRoot stage_root, IsHere is_here)
    : services_{services},
      stage_root_{std::move(stage_root)},
      is_here_{std::move(is_here)},
      asker_{services},
      alarm_{services.loop, [this] { sweep(); }} {
}

void Cleaner::remove(std::uint32_t job_id, std::uint32_t step_id) {
    forget_verdicts(job_id, step_id);
    const auto root = stage_root_();
    const auto owner = root ? owner_of(*root, job_id) : std::nullopt;
    if (!owner) {
        return;
    }
    const RemoveRequest what{.path = directory_names(job_id, step_id),
                             .user = {.uid = owner->uid, .gid = owner->gid, .name = {}}};
    const auto started =
        services_.children.remove_tree(*root, what, [this, job_id](const SpawnEvent& event) {
            if (event.kind != SpawnEvent::Kind::started && !event.sentence.empty()) {
                services_.log.warn("a job's directory can't be removed; remove it by hand",
                                   {{"job", job_id}, {"why", event.sentence}});
            }
        });
    if (!started) {
        services_.log.warn("a job's directory is not removed",
                           {{"job", job_id}, {"why", started.error().sentence()}});
    }
}

void Cleaner::forget_verdicts(std::uint32_t job_id, std::uint32_t step_id) {
    for (const StageKey& key : services_.verdicts.all()) {
        if (key.job_id == job_id && (step_id == kWholeJob || key.step_id == step_id)) {
            services_.verdicts.forget(key);
        }
    }
}

void Cleaner::sweep() {
    alarm_.set(services_.loop.now() + kSweepEvery);
    std::set<std::uint32_t> jobs;
    const auto root = stage_root_();
    for (const DirectoryEntry& entry :
         root ? numbered_directories(*root) : std::vector<DirectoryEntry>{}) {
        jobs.insert(static_cast<std::uint32_t>(std::strtoul(entry.name.c_str(), nullptr, 10)));
    }
    for (const StageKey& key : services_.verdicts.all()) {
        jobs.insert(key.job_id);
    }
    unsure_.assign(jobs.begin(), jobs.end());
    if (!asker_.is_busy()) {
        ask_next();
    }
}

void Cleaner::ask_next() {
    while (!unsure_.empty() && is_here_(unsure_.front())) {
        unsure_.pop_front();
    }
    if (unsure_.empty()) {
        return;
    }
    const std::uint32_t job_id = unsure_.front();
    unsure_.pop_front();
    asker_.ask(JobStateQuestion{job_id}, [this, job_id](const Result<SlurmAnswer>& answer) {
        on_answer(job_id, answer);
    });
}

void Cleaner::on_answer(std::uint32_t job_id, const Result<SlurmAnswer>& answer) {
    if (!answer) {
        unsure_.clear();  // A silent slurmctld: the next sweep asks again.
        return;
    }
    const auto* job = std::get_if<SlurmJob>(&*answer);
    if (job != nullptr && job->state != SlurmJobState::alive && !is_here_(job_id)) {
        ++services_.counters.directories_swept;
        services_.log.info("sweeping what an ended job left",
                           {{"job", job_id}, {"state", job->word}});
        remove(job_id, kWholeJob);
    }
    ask_next();
}

}  // namespace stage
