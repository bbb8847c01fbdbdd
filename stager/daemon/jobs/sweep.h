// Removes the remains of jobs whose end this node has missed, because no epilog reached a
// daemon.
//
// The remains are directories below any StageRoot, cleanup lists and verdicts. Slurm knows
// which jobs are over, but is asked rarely: at the start about all jobs in one question, later
// only about jobs whose remains are an hour old and that have neither a stage nor a slurmstepd
// on this node; about a job that turns out to be alive, after twice the time. Only remains of a
// job that slurmctld knows to be over, or does not know, are removed. A suspended job keeps its
// files. A completing job may still save them, and its epilog follows; when the daemon starts,
// that epilog may already have run.
#pragma once

#include "stager/daemon/base/basics.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/base/slurm_asker.h"
#include "stager/daemon/jobs/job_directory.h"

#include <functional>
#include <map>
#include <set>
#include <vector>

namespace stage {

class VerdictStore;

/// How often a sweep runs, and when it asks about a job.
struct SweepTimes {
    Duration every = std::chrono::hours{1};
    Duration first_rest = std::chrono::hours{1};
    Duration rest_max = std::chrono::hours{24};
    Duration if_silent = std::chrono::minutes{10};  ///< If slurmctld does not answer.
};

class Sweep {
  public:
    struct Hooks {
        std::function<Result<int>()> stage_root;
        /// A stage of that job is open.
        std::function<bool(std::uint32_t job_id)> is_here;
        /// The jobs with a step on this node.
        std::function<std::set<std::uint32_t>()> steps;
        std::function<void(std::uint32_t job_id)> remove;
        /// Called by every sweep; what was set aside is no job's any more.
        std::function<void()> remove_set_aside;
    };

    /// Both references outlive the object.
    Sweep(const Basics& basics,
          const VerdictStore& verdicts,
          Hooks hooks,
          SweepTimes times = {});
    Sweep(const Sweep&) = delete;
    Sweep& operator=(const Sweep&) = delete;
    ~Sweep() = default;

    /// Sweeps now and at regular intervals.
    void begin();

  private:
    struct Rest {
        Instant until{};
        Duration length{};  ///< 0: slurmctld was never asked about the job.
    };

    [[nodiscard]] std::set<std::uint32_t> jobs_here();
    [[nodiscard]] std::vector<std::uint32_t> due(const std::set<std::uint32_t>& jobs);
    void on_answer(const std::vector<std::uint32_t>& jobs, const Result<SlurmAnswer>& answer);
    void judge(std::uint32_t job_id, const SlurmJob& job);
    [[nodiscard]] bool is_over(SlurmJobState state) const;
    [[nodiscard]] Duration drawn(Duration length) const;

    const Basics& basics_;
    const VerdictStore& verdicts_;
    Hooks hooks_;
    SweepTimes times_;
    SlurmAsker asker_;
    std::map<std::uint32_t, Rest> resting_;  ///< Jobs not to be asked about yet.
    bool is_first_ = true;
    bool is_answered_ = false;  ///< Until the first answer every job is asked about.
    Alarm alarm_;
};

}  // namespace stage
