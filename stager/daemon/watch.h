// Is the job still wanted?
//
// Nothing reaches a running prolog: not scancel, not a requeue, not preemption. So the root
// asks slurmctld now and then. Only a clear answer ends a stage; a slurmctld that is silent, or
// a daemon that can't ask, never does.
#pragma once

#include "stager/daemon/slurm_asker.h"

#include <functional>
#include <optional>
#include <string>

namespace stage {

/// Why the job (key) must not be staged for any more, or nothing.
[[nodiscard]] std::optional<std::string> reason_to_stop(const StageKey& key,
                                                        const SlurmJob& job);

class Watch {
  public:
    using OnOver = std::function<void(const std::string& why)>;

    /// `services` outlives it. `on_over` is called at most once.
    Watch(Services& services, StageKey key, OnOver on_over);

    void start();
    void stop();

  private:
    void ask();
    void on_answer(const Result<SlurmAnswer>& answer);

    Services& services_;
    StageKey key_;
    OnOver on_over_;
    SlurmAsker asker_;
    Alarm alarm_;
    bool stopped_ = true;
    bool seen_ = false;
};

}  // namespace stage
