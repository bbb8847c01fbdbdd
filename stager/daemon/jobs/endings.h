// Removes a job or step that has ended, and delays its successor until that is done.
//
// First its processes end, then its files are removed; then the process that sent END receives
// its answer (at the latest after kAnswerMax: an epilog must not wait for a million files), and
// a stage for the same job (a requeue repeats the id) may begin. Removal and stage never run at
// the same time. If a process that outlives the job, or a mount, prevents the removal, it is
// tried again later.
#pragma once

#include "stager/daemon/jobs/cleaner.h"

#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace stage {

class Endings {
  public:
    using HasProcess = std::function<bool(std::uint32_t job_id, std::uint32_t step_id)>;
    using HasStage = std::function<bool(std::uint32_t job_id)>;
    using Task = std::function<void()>;

    /// `has_stage`: a stage of that job is open. The references outlive the object.
    Endings(Loop& loop,
            const VerdictStore& verdicts,
            Cleaner& cleaner,
            HasProcess has_process,
            HasStage has_stage)
        : loop_{loop},
          verdicts_{verdicts},
          cleaner_{cleaner},
          has_process_{std::move(has_process)},
          has_stage_{std::move(has_stage)} {}

    /// `answer` is called once: when everything is removed, or after kAnswerMax.
    void begin(std::uint32_t job_id, std::uint32_t step_id, Task answer);
    /// A process of the job has ended, perhaps the last one.
    void look(std::uint32_t job_id);

    /// Whether a removal is pending with which such a stage would collide.
    [[nodiscard]] bool is_in_the_way(std::uint32_t job_id, std::uint32_t step_id) const;
    /// The loop calls `task` when no removal is in the way any more; always later.
    void when_clear(std::uint32_t job_id, std::uint32_t step_id, Task task);
    /// Whether a task waits for that.
    [[nodiscard]] bool is_awaited(std::uint32_t job_id, std::uint32_t step_id) const;

  private:
    using Name = std::pair<std::uint32_t, std::uint32_t>;  ///< Job, step.
    struct Ending {
        bool is_removing = false;
        unsigned tries = 0;  ///< Removals that have failed.
        std::vector<Task> answers;
    };
    struct Parked {
        Name name;
        Task task;
    };

    void on_removed(Name name);
    void try_again(Name name, unsigned tries);
    [[nodiscard]] bool lives_again(std::uint32_t job_id) const;
    void tell(Name name);
    void unpark();

    Loop& loop_;
    const VerdictStore& verdicts_;
    Cleaner& cleaner_;
    HasProcess has_process_;
    HasStage has_stage_;
    std::map<Name, Ending> endings_;
    std::vector<Parked> parked_;
};

}  // namespace stage
