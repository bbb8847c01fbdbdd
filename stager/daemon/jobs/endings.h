// A job or step has ended here: when is it gone?
//
// First its processes, then its files; then whoever said END has an answer (or after a moment:
// an epilog must not wait for a million files), and whoever wants to stage for the same job
// again (a requeue repeats the id) may begin. Never both at once. What a process that outlives
// its job, or a mount of it, keeps from going is tried again later.
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

    /// `has_stage`: a stage of that job is open. Both references outlive it.
    Endings(Services& services, Cleaner& cleaner, HasProcess has_process, HasStage has_stage)
        : services_{services},
          cleaner_{cleaner},
          has_process_{std::move(has_process)},
          has_stage_{std::move(has_stage)} {}

    /// `answer` is called once: when it is gone, or after kAnswerMax.
    void begin(std::uint32_t job_id, std::uint32_t step_id, Task answer);
    /// A process of the job is gone: perhaps it was the last one.
    void look(std::uint32_t job_id);

    /// Something that such a stage would trip over is about to go.
    [[nodiscard]] bool is_in_the_way(std::uint32_t job_id, std::uint32_t step_id) const;
    /// `task` comes once nothing is in the way any more; later, from the loop.
    void when_clear(std::uint32_t job_id, std::uint32_t step_id, Task task);
    /// Some task waits for that.
    [[nodiscard]] bool is_awaited(std::uint32_t job_id, std::uint32_t step_id) const;

  private:
    using Name = std::pair<std::uint32_t, std::uint32_t>;  ///< Job, step.
    struct Ending {
        bool is_removing = false;
        unsigned tries = 0;  ///< Before this one.
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

    Services& services_;
    Cleaner& cleaner_;
    HasProcess has_process_;
    HasStage has_stage_;
    std::map<Name, Ending> endings_;
    std::vector<Parked> parked_;
};

}  // namespace stage
