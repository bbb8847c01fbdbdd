// Watches whether the job that is staged for is still wanted.
//
// Nothing reaches a running prolog: not scancel, not a requeue, not preemption. So the root
// asks slurmctld: once soon, as most jobs that are cancelled are so at once, then every
// WatchInterval, which bounds what stages of any number of nodes cost slurmctld. Each pause is
// up to a fifth longer, drawn, so that stages that began together don't ask together. Only a
// clear answer ends a stage; a slurmctld that is silent, or a daemon that can't ask, never
// does. Nor does a job that is suspended, by gang scheduling, preemption or an administrator:
// staging goes on, and the job finds its files when it is resumed. Another node than the root
// looks once, where no SETUP comes: the root may never have heard of a job that was cancelled
// as it began.
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/daemon/base/slurm_asker.h"

#include <functional>
#include <optional>
#include <string>

namespace stage {

/// Why the job (key) must not be staged for any more, or nothing.
[[nodiscard]] std::optional<std::string> reason_to_stop(const StageKey& key,
                                                        const SlurmJob& job);

/// From the first node's plan until the first look, unless WatchInterval is less.
inline constexpr Duration kFirstLook = std::chrono::seconds{2};

class JobWatch {
  public:
    using OnOver = std::function<void(const std::string& why)>;

    /// `services` outlives it. `on_over` is called at most once.
    JobWatch(Services& services, StageKey key, OnOver on_over);

    /// `known`: what slurmctld has said of the job a moment ago, if anything.
    void start(const std::optional<SlurmJob>& known);
    /// One look, so long from now, and no more.
    void look_once(Duration pause);
    void stop();

  private:
    void ask();
    void set_alarm(Duration pause);
    void consider(const SlurmJob& job);
    void on_answer(const Result<SlurmAnswer>& answer);

    Services& services_;
    StageKey key_;
    OnOver on_over_;
    SlurmAsker asker_;
    Alarm alarm_;
    bool stopped_ = true;
    bool repeats_ = true;
    bool seen_ = false;
};

}  // namespace stage
