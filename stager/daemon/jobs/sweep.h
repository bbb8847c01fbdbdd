// Removes what jobs left here that nobody ended: an epilog that this daemon was not there for.
//
// Directories, below whichever StageRoot, lists and verdicts. Slurm knows which jobs are over,
// but is asked rarely: at the start about all jobs in one question, then only about those that
// have lain here for an hour, and have neither a stage nor a slurmstepd here; one that turns
// out to live, after twice the time. Only of a job that slurmctld knows to be over, or does not
// know, anything is removed. A suspended job goes on with its files. One that is completing may
// still save them, and its epilog follows; at the start that one may have come and gone.
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/daemon/base/slurm_asker.h"
#include "stager/daemon/jobs/job_directory.h"

#include <functional>
#include <map>
#include <set>
#include <vector>

namespace stage {

/// How often a sweep looks, and when it asks about a job.
struct SweepTimes {
    Duration every = std::chrono::hours{1};
    Duration first_rest = std::chrono::hours{1};
    Duration rest_max = std::chrono::hours{24};
    Duration if_silent = std::chrono::minutes{10};  ///< slurmctld.
};

class Sweep {
  public:
    using StageRoot = std::function<Result<int>()>;
    using IsHere = std::function<bool(std::uint32_t job_id)>;
    using Remove = std::function<void(std::uint32_t job_id)>;
    using Steps = std::function<std::set<std::uint32_t>()>;

    /// `is_here`: a stage of that job is open. `steps`: jobs with a step on this node.
    /// `services` outlives it.
    Sweep(Services& services,
          StageRoot stage_root,
          IsHere is_here,
          Steps steps,
          Remove remove,
          SweepTimes times = {});
    Sweep(const Sweep&) = delete;
    Sweep& operator=(const Sweep&) = delete;
    ~Sweep() = default;

    /// Now, and again and again from now on.
    void begin();

  private:
    struct Rest {
        Instant until{};
        Duration length{};  ///< 0: it was never asked about.
    };

    [[nodiscard]] std::set<std::uint32_t> jobs_here();
    [[nodiscard]] std::vector<std::uint32_t> due(const std::set<std::uint32_t>& jobs);
    void on_answer(const std::vector<std::uint32_t>& jobs, const Result<SlurmAnswer>& answer);
    void judge(std::uint32_t job_id, const SlurmJob& job);
    [[nodiscard]] bool is_over(SlurmJobState state) const;
    [[nodiscard]] Duration drawn(Duration length) const;

    Services& services_;
    StageRoot stage_root_;
    IsHere is_here_;
    Steps steps_;
    Remove remove_;
    SweepTimes times_;
    SlurmAsker asker_;
    std::map<std::uint32_t, Rest> resting_;  ///< Jobs not to be asked about yet.
    bool is_first_ = true;
    bool is_answered_ = false;  ///< Once; until then every job is asked about.
    Alarm alarm_;
};

}  // namespace stage
