// Tells Slurm what becomes of a whole job's stage, from the job's first node.
//
// A failure becomes the job's AdminComment, and requeues the job if the site wants that
// (failure_notice.h); a job that Slurm never begins is cancelled (unbegun_job.h). A success is
// reported only if the progress was before it (job_watch.h).
#pragma once

#include "stager/config/config.h"
#include "stager/control/message.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/base/slurm_asker.h"
#include "stager/daemon/result/failure_notice.h"
#include "stager/daemon/result/unbegun_job.h"

#include <functional>
#include <string>
#include <vector>

namespace stage {

struct Basics;

/// How a stage failed, or went on without some nodes.
struct StageFault {
    const Verdict& verdict;
    std::vector<std::string> suspects;  ///< The nodes that the job can do without, if requeued.
    Instant latest_prolog{};            ///< By then the prolog of each node has begun.
};

class SlurmReport {
  public:
    using OnChange = std::function<void()>;

    /// Calls what it is given once no report of the progress is under way, at once or later.
    using AfterReport = std::function<void(std::function<void()>)>;

    /// `basics` outlives it. `on_change`: is_busy() may be false now.
    SlurmReport(const Basics& basics,
                AfterReport after_report,
                StageKey key,
                OnChange on_change);

    /// Once. True: the job is requeued, and the plugin must not be answered before `on_heard`
    /// is called. Until the prolog returns no batch script runs, and one that began would fail
    /// the job first.
    [[nodiscard]] bool report_fault(StageFault fault, std::function<void()> on_heard);
    /// `order` replaces what was reported of the progress (job_watch.h).
    void report_success(const ProgressOrder& order);
    /// The job has ended.
    void on_job_end() { unbegun_.stop(); }
    [[nodiscard]] bool is_busy() const;

  private:
    void report_later(std::function<void()> report);

    const Basics& basics_;
    AfterReport after_report_;
    StageKey key_;
    OnChange on_change_;
    FailureNotice notice_;
    UnbegunJob unbegun_;
    bool waits_ = false;  ///< For a report of the progress.
    SlurmAsker asker_;    ///< For report_success().
};

}  // namespace stage
