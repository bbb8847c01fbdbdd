// Cancels a job whose staging failed, if Slurm never begins it.
//
// Such a job is ended by its first task, which Slurm starts when the prologs of all nodes are
// done. Where slurmctld gave up to start one, that never happens.
#pragma once

#include "stager/config/config.h"
#include "stager/control/message.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/base/slurm_asker.h"

#include <functional>
#include <string>

namespace stage {

class Logger;

class UnbegunJob {
  public:
    using OnDone = std::function<void()>;

    /// The references outlive it. `on_done` comes at most once after each await().
    UnbegunJob(Loop& loop,
               Children& children,
               const Config& config,
               const Logger& log,
               StageKey key,
               OnDone on_done);

    /// The last prolog is awaited until `latest`; a moment later slurmctld is asked to cancel
    /// the job, if it waits for a prolog even then. `reason`: why the staging failed.
    void await(Instant latest, std::string reason);
    /// The job has ended.
    void stop();
    [[nodiscard]] bool is_awaited() const { return is_awaited_; }

  private:
    void cancel();
    void on_answer(const Result<SlurmAnswer>& answer);

    Loop& loop_;
    const Config& config_;
    const Logger& log_;
    StageKey key_;
    OnDone on_done_;
    std::string reason_;
    SlurmAsker asker_;
    Alarm alarm_;
    bool is_awaited_ = false;
};

}  // namespace stage
