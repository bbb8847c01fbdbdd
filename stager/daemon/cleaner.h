// What becomes of a job's directory?
//
// At the job's end it is removed, by a child that acts as the user. What a daemon that died
// left behind is found at the next start: Slurm is asked about each such job, and only a job
// that it knows to be over, or does not know, is swept.
#pragma once

#include "stager/daemon/job_directory.h"
#include "stager/daemon/slurm_asker.h"

#include <deque>
#include <functional>
#include <set>

namespace stage {

class Cleaner {
  public:
    using StageRoot = std::function<Result<int>()>;
    using IsHere = std::function<bool(std::uint32_t job_id)>;

    /// `is_here`: a stage of that job lives in this daemon. `services` outlives it.
    Cleaner(Services& services, StageRoot stage_root, IsHere is_here);
    Cleaner(const Cleaner&) = delete;
    Cleaner& operator=(const Cleaner&) = delete;
    ~Cleaner() = default;

    /// Removes the job's directory (kWholeJob) or the step's, in the background, and the stored
    /// verdicts with it. Requires that no process of the job is at work in it.
    void remove(std::uint32_t job_id, std::uint32_t step_id);

    /// Looks for what is left, now and every kSweepEvery.
    void sweep();

  private:
    void forget_verdicts(std::uint32_t job_id, std::uint32_t step_id);
    void ask_next();
    void on_answer(std::uint32_t job_id, const Result<SlurmAnswer>& answer);

    Services& services_;
    StageRoot stage_root_;
    IsHere is_here_;
    SlurmAsker asker_;
    std::deque<std::uint32_t> unsure_;
    Alarm alarm_;
};

}  // namespace stage
