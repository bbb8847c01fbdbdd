// What does the plugin do about a step, in slurmstepd?
//
// It asks for the verdict once per node and step, publishes it in the job's environment, and
// lets tasks start or not. What the step stages for itself it begins, and its forked tasks wait
// for that: slurmstepd hands on no signal before it has forked them, neither Ctrl-C of srun nor
// what scancel ends a step with, and drains the node when they took too long (22.05). Only
// where others need the files before there are tasks (a container's plugin) it waits itself.
//
// The verdict is enforced in task_init, where slurm_error reaches the user and the forked
// task's own exit fails the job alone: asked for, and no good verdict of this (job, restart) on
// this node, is a failure. That also catches a node of the job whose plugin could not be
// loaded: it announces nothing, the daemons' verdict names it, and the batch host's tasks do
// not start.
#pragma once

#include "spank/job/prolog_side.h"
#include "spank/job/visibility.h"

#include <optional>
#include <string>

namespace stage {

/// Waits for what was asked before, in this process or in one forked since.
using AwaitAnswer = std::function<Result<Answer>()>;
/// SharedCall::begin() on this node's socket, or a test's.
using BeginAsking = std::function<Result<AwaitAnswer>(const Request&, const CallPatience&)>;

/// What slurmstepd does about a step.
class StepSide {
  public:
    /// EX_TEMPFAIL: what failed is the node's or stagecast's own fault, and the same job may
    /// run elsewhere or later. So a site can have Slurm requeue such jobs (RequeueExit=75).
    static constexpr int kExitTemporary = 75;
    static constexpr int kExitUser = 1;

    StepSide(Arguments arguments, AskDaemon ask, BeginAsking begin)
        : arguments_{std::move(arguments)}, ask_{std::move(ask)}, begin_{std::move(begin)} {}

    /// Slurm's callback in slurmstepd: the job or the step was given the option.
    void on_option() { option_seen_ = true; }

    /// REMOTE init_post_opt: asks the daemon, sets the job's environment, begins what the step
    /// stages. Without the option it looks into that environment, and that is all.
    void on_step_begins(SpankHandle& handle);

    /// In the forked task, in each hook that it has: are the files where they will be looked
    /// for? What another plugin mounts it may do before the last of them.
    void look_around();

    /// In the forked task: waits for what the step stages, and publishes it.
    [[nodiscard]] bool awaits_files() const { return awaited_ && !failure_; }
    void await_files(SpankHandle& handle);

    /// In the forked task, before its program: may it start? If not, says why once per step.
    [[nodiscard]] bool may_start(SpankHandle& handle) const;

    /// What a task that may not start ends with.
    [[nodiscard]] int exit_status() const;

    /// In the forked task that may start: what the user asked to be told (--stage-verbose).
    void tell(SpankHandle& handle) const;

    /// REMOTE exit: what the step staged for itself can go.
    void on_step_ends(SpankHandle& handle) const;

    /// Something of ours broke: if files were asked for, tasks must not start.
    void on_breakdown();

  private:
    struct Failed {
        std::string sentence;
        Blame blame;
        bool is_local;  ///< Known to this node alone; else every node has the same.
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
    AwaitAnswer awaited_;  ///< Of what the step stages, until somebody has waited for it.
    bool option_seen_ = false;
    bool is_concerned_ = false;
    bool has_staged_ = false;  ///< This step sent a STAGE of its own.
    std::optional<Failed> failure_;
    std::optional<Verdict> job_;
    std::optional<Verdict> step_;
    Visibility visibility_;
    std::optional<std::string> hidden_;  ///< Why the files are not to be seen.
};

}  // namespace stage
