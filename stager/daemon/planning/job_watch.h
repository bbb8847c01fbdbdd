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
//
// No user can log in to the nodes of a job in its prolog. So the root reports to Slurm how far
// a long staging is: at the moments of next_progress_time(), in place of the next question.
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

/// When Slurm hears next how far a staging is, in time since its begin: after 10 s, 30 s, a
/// minute, and then twice as long each time.
[[nodiscard]] Duration next_progress_time(Duration last);

class JobWatch {
  public:
    struct Hooks {
        /// Called at most once.
        std::function<void(const std::string& why)> on_over;
        /// How far the stage is, in words for the job's user.
        std::function<std::string()> progress;
    };

    /// The references outlive the object.
    JobWatch(Loop& loop, Children& children, const Config& config, StageKey key, Hooks hooks);

    /// `known`: the job as slurmctld has just reported it, if it was asked.
    void start(const std::optional<SlurmJob>& known);
    /// Asks once, after `pause`.
    void look_once(Duration pause);
    /// For good.
    void stop();
    /// Calls `then` once no report of the progress is under way, at once or from the loop.
    /// What is reported then, after stop(), is not overtaken by it.
    void after_report(std::function<void()> then);
    /// True if it was reported to Slurm how far the stage was.
    [[nodiscard]] bool has_reported_progress() const { return reported_ > Duration{}; }
    /// Reports at the end of a stage that ended well what it came to.
    [[nodiscard]] ProgressOrder last_order(const std::string& sentence) const;

  private:
    void ask();
    [[nodiscard]] bool reports_progress() const;
    void set_alarm(Duration pause);
    void consider(const SlurmJob& job);
    void go_on();
    [[nodiscard]] ProgressOrder order_of(const std::string& sentence) const;
    void on_job(const Result<SlurmAnswer>& answer);
    void on_state(const Result<SlurmAnswer>& answer);

    Loop& loop_;
    const Config& config_;
    StageKey key_;
    Hooks hooks_;
    SlurmAsker asker_;
    Alarm alarm_;
    std::function<void()> reported_then_;  ///< What after_report() waits to call.
    std::optional<Instant> begun_;
    Duration reported_{};  ///< The last of the moments at which progress was reported.
    bool is_reporting_ = false;
    bool is_over_ = false;  ///< stop() was called, or the job is over.
    bool repeats_ = true;
    bool seen_ = false;
};

}  // namespace stage
