// Watches whether the job for which a stage runs is still wanted.
//
// A running prolog is not interrupted by scancel, requeue or preemption. So the root asks
// slurmctld: first soon, as most jobs that are cancelled are cancelled at once, then every
// WatchInterval, which bounds the load on slurmctld whatever the number of nodes. Each pause is
// longer by a random part of up to a fifth, so that stages that began together don't ask
// together. Only a clear answer ends a stage; a silent slurmctld, or a daemon that can't ask,
// never does. A suspended job (gang scheduling, preemption, an administrator) doesn't either:
// the stage goes on, and the job finds its files when it is resumed. A node other than the root
// asks once, if no SETUP arrives: the root may never have received a job that was cancelled as
// it began.
#pragma once

#include "stager/config/config.h"
#include "stager/control/message.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/base/slurm_asker.h"

#include <functional>
#include <optional>
#include <string>

namespace stage {

/// Why the stage of a job (key) must end, or nothing.
[[nodiscard]] std::optional<std::string> reason_to_stop(const StageKey& key,
                                                        const SlurmJob& job);

/// From the root's plan until the first question, unless WatchInterval is less.
inline constexpr Duration kFirstLook = std::chrono::seconds{2};

class JobWatch {
  public:
    using OnOver = std::function<void(const std::string& why)>;

    /// The references outlive the object. `on_over` is called at most once.
    JobWatch(
        Loop& loop, Children& children, const Config& config, StageKey key, OnOver on_over);

    /// `known`: the job as slurmctld has just reported it, if it was asked.
    void start(const std::optional<SlurmJob>& known);
    /// Asks once, after `pause`.
    void look_once(Duration pause);
    void stop();

  private:
    void ask();
    void set_alarm(Duration pause);
    void consider(const SlurmJob& job);
    void on_answer(const Result<SlurmAnswer>& answer);

    Loop& loop_;
    const Config& config_;
    StageKey key_;
    OnOver on_over_;
    SlurmAsker asker_;
    Alarm alarm_;
    bool stopped_ = true;
    bool repeats_ = true;
    bool seen_ = false;
};

}  // namespace stage
