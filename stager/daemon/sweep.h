// What did an earlier daemon leave behind?
//
// Directories, below whichever StageRoot, and verdicts of jobs that nobody ended here. Slurm is
// asked about each, one after the other, at the start and now and then; only of a job that it
// knows to be over, or does not know, anything is removed. A suspended job goes on with its
// files. One that is completing may still save them, and its epilog follows; at the start that
// one may have come and gone.
#pragma once

#include "stager/daemon/job_directory.h"
#include "stager/daemon/slurm_asker.h"

#include <deque>
#include <functional>

namespace stage {

class Sweep {
  public:
    using StageRoot = std::function<Result<int>()>;
    using IsHere = std::function<bool(std::uint32_t job_id)>;
    using Remove = std::function<void(std::uint32_t job_id)>;

    /// `is_here`: somebody is at work for that job. `services` outlives it.
    Sweep(Services& services, StageRoot stage_root, IsHere is_here, Remove remove);
    Sweep(const Sweep&) = delete;
    Sweep& operator=(const Sweep&) = delete;
    ~Sweep() = default;

    /// Now, and every kSweepEvery from now on.
    void begin();

  private:
    void ask_next();
    void on_answer(std::uint32_t job_id, const Result<SlurmAnswer>& answer);
    [[nodiscard]] bool is_over(SlurmJobState state) const;

    Services& services_;
    StageRoot stage_root_;
    IsHere is_here_;
    Remove remove_;
    SlurmAsker asker_;
    std::deque<std::uint32_t> unsure_;
    bool is_first_ = true;
    Alarm alarm_;
};

}  // namespace stage
