#include "stager/daemon/jobs/endings.h"

#include "stager/daemon/base/loop.h"
#include "stager/daemon/jobs/verdict_store.h"

#include <algorithm>

namespace stage {
namespace {

/// Slurm's epilog waits for the answer no longer than this.
constexpr Duration kAnswerMax = std::chrono::seconds{2};
/// The first retry of a failed removal; each further one waits four times as long: 10 s, 40 s,
/// 3 min, 11 min, 43 min. After these the next sweep tries.
constexpr Duration kAgainAfter = std::chrono::seconds{10};
constexpr unsigned kTriesMax = 5;

}  // namespace

void Endings::begin(std::uint32_t job_id, std::uint32_t step_id, Task answer) {
    const Name name{job_id, step_id};
    endings_[name].answers.push_back(std::move(answer));
    loop_.after(kAnswerMax, [this, name] { tell(name); });
    look(job_id);
}

void Endings::look(std::uint32_t job_id) {
    std::vector<Name> ready;
    for (auto& [name, ending] : endings_) {
        if (name.first == job_id && !ending.is_removing && !has_process_(job_id, name.second)) {
            ending.is_removing = true;
            ready.push_back(name);
        }
    }
    for (const Name& name : ready) {
        cleaner_.remove(name.first, name.second, [this, name] { on_removed(name); });
    }
}

void Endings::on_removed(Name name) {
    tell(name);
    const unsigned tries = endings_[name].tries;
    endings_.erase(name);
    unpark();
    if (cleaner_.has_left(name.first, name.second) && tries < kTriesMax) {
        loop_.after(kAgainAfter * (1U << (2 * tries)),
                    [this, name, tries] { try_again(name, tries + 1); });
    }
}

void Endings::try_again(Name name, unsigned tries) {
    if (endings_.contains(name) || lives_again(name.first)) {
        return;
    }
    endings_[name].tries = tries;
    look(name.first);
}

/// A job that was requeued has the same id, and the same directory.
bool Endings::lives_again(std::uint32_t job_id) const {
    return has_stage_(job_id) ||
           std::ranges::any_of(verdicts_.all(),
                               [job_id](const StageKey& key) { return key.job_id == job_id; });
}

void Endings::tell(Name name) {
    const auto found = endings_.find(name);
    if (found == endings_.end()) {
        return;
    }
    for (const Task& answer : std::exchange(found->second.answers, {})) {
        answer();
    }
}

bool Endings::is_in_the_way(std::uint32_t job_id, std::uint32_t step_id) const {
    return std::any_of(endings_.begin(), endings_.end(), [&](const auto& one) {
        const auto [job, step] = one.first;
        return job == job_id && (step == kWholeJob || step == step_id);
    });
}

void Endings::when_clear(std::uint32_t job_id, std::uint32_t step_id, Task task) {
    parked_.push_back({{job_id, step_id}, std::move(task)});
}

bool Endings::is_awaited(std::uint32_t job_id, std::uint32_t step_id) const {
    return std::ranges::any_of(parked_, [&](const Parked& one) {
        return one.name == std::pair{job_id, step_id};
    });
}

void Endings::unpark() {
    for (Parked& one : std::exchange(parked_, {})) {
        if (is_in_the_way(one.name.first, one.name.second)) {
            parked_.push_back(std::move(one));
        } else {
            loop_.defer(std::move(one.task));
        }
    }
}

}  // namespace stage
