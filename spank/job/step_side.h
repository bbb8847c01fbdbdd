// The plugin's part in a step, in slurmstepd.
//
// It asks the daemon for the verdict once per node and step, publishes it in the job's
// environment, and allows or refuses the start of tasks. It begins the step's own stage, and
// the forked tasks wait for that: slurmstepd forwards no signal before it has forked them,
// neither Ctrl-C of srun nor scancel's, and drains the node if they take too long (22.05). Only
// where other plugins need the files before there are tasks (a container's plugin) slurmstepd
// itself waits.
//
// The verdict is enforced in task_init, where slurm_error reaches the user and the forked
// task's exit fails only the job. A job that asked for files fails unless this node has a good
// verdict for this (job, restart). That includes a node whose plugin could not be loaded: it
// announces nothing, the daemons' verdict names it, and the batch host's tasks do not start.
#pragma once

#include "spank/job/prolog_side.h"
#include "spank/job/visibility.h"

#include <optional>
#include <string>

namespace stage {

/// Waits for the answer to an earlier request, in this process or in one forked since.
using AwaitAnswer = std::function<Result<Answer>()>;
/// SharedCall::begin() with this node's socket, or a test's replacement.
using BeginAsking = std::function<Result<AwaitAnswer>(const Request&, const CallTimeouts&)>;

class StepSide {
  public:
    /// EX_TEMPFAIL: the failure is the node's or stagecast's own, and the same job may run
    /// elsewhere or later. A site can let Slurm requeue such jobs (RequeueExit=75).
    static constexpr int kExitTemporary = 75;
    static constexpr int kExitUser = 1;

    StepSide(Arguments arguments, AskDaemon ask, BeginAsking begin)
        : arguments_{std::move(arguments)}, ask_{std::move(ask)}, begin_{std::move(begin)} {}

    /// Slurm's option callback in slurmstepd: the job or the step has the option.
    void on_option() { option_seen_ = true; }

    /// In slurmstepd's init_post_opt: asks the daemon, sets the job's environment, begins the
    /// step's own stage. Without the option it only reads that environment.
    void on_step_begins(SpankHandle& handle);

    /// In the forked task, in each of its hooks: checks that the files are visible at their
    /// paths. Another plugin may mount something before the last of the hooks.
    void look_around();

    /// In the forked task: waits for the step's own stage, and publishes it.
    [[nodiscard]] bool awaits_files() const { return awaited_ && !failure_; }
    void await_files(SpankHandle& handle);

    /// In the forked task, before its program: may it start? If not, logs the reason once per
    /// step.
    [[nodiscard]] bool may_start(SpankHandle& handle) const;

    /// The exit status of a task that may not start.
    [[nodiscard]] int exit_status() const;

    /// In the forked task that may start: writes the report of --stage-verbose.
    void tell(SpankHandle& handle) const;

    /// In slurmstepd's exit hook: the daemon may remove what the step staged for itself.
    void on_step_ends(SpankHandle& handle) const;

    /// After a failure of the plugin itself: if files were requested, tasks must not start.
    void on_breakdown();

  private:
    struct Failed {
        std::string sentence;
        Blame blame;
        bool is_local;  ///< Known to this node only; else the same on every node.
    };

    [[nodiscard]] bool concerns_job(const SpankHandle& handle, bool has_step_specs) const;
    void ask_for_job(SpankHandle& handle);
    [[nodiscard]] Result<Answer> stage_for_job(const SpankHandle& handle,
                                               Result<Answer> known) const;
    void stage_for_step(SpankHandle& handle, const std::string& specs);
    void judge(SpankHandle& handle, const Result<Answer>& answer, bool may_be_unknown);
    void fail(SpankHandle& handle, Failed failed);

    Arguments arguments_;
    AskDaemon ask_;
    BeginAsking begin_;
    AwaitAnswer awaited_;  ///< The step's own stage, until a process has waited for it.
    bool option_seen_ = false;
    bool is_concerned_ = false;
    bool has_staged_ = false;  ///< This step sent a STAGE of its own.
    std::optional<Failed> failure_;
    std::optional<Verdict> job_;
    std::optional<Verdict> step_;
    Visibility visibility_;
    std::optional<std::string> hidden_;  ///< Why the task cannot see the files.
};

}  // namespace stage
