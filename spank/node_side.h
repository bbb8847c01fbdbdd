// What does the plugin do on a node?
//
// In the prolog it announces the job to the node's daemon and waits for the group's verdict, so
// that no node's prolog returns before all nodes know it. In slurmstepd it asks for the verdict
// once per node and step (of the whole job, and of what the step stages for itself), publishes
// it in the job's environment, and lets tasks start or not. At the end it tells the daemon.
//
// A prolog cannot fail a job without draining its node. So the verdict is enforced in
// task_init, where slurm_error reaches the user and the forked task's own exit fails the job
// alone: asked for, and no good verdict of this (job, restart) on this node, is a failure. That
// also catches a node of the job whose plugin could not be loaded: it announces nothing, the
// daemons' verdict names it, and the batch host's tasks do not start.
#pragma once

#include "spank/options.h"
#include "spank/spank_handle.h"
#include "spank/visibility.h"
#include "stager/control/client.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stage {

/// ask_daemon() on this node's socket, or a test's.
using AskDaemon = std::function<Result<Answer>(const Request&, const Patience&)>;

/// What job_prolog does about a job: nothing unless the specs have been handed to it.
class PrologSide {
  public:
    PrologSide(Arguments arguments, AskDaemon ask)
        : arguments_{std::move(arguments)}, ask_{std::move(ask)} {}

    /// The prolog's environment speaks of files to stage. Costs a getenv.
    [[nodiscard]] static bool is_concerned(const SpankHandle& handle);

    /// Sends STAGE, waits for the verdict. An Error is for slurmd's log: the job learns it
    /// later.
    [[nodiscard]] Status announce(const SpankHandle& handle) const;
    /// Sends END.
    [[nodiscard]] Status conclude(const SpankHandle& handle) const;

    /// How long announce() and conclude() may take at the most.
    [[nodiscard]] Duration announce_limit() const;
    [[nodiscard]] Duration conclude_limit() const;

  private:
    Arguments arguments_;
    AskDaemon ask_;
};

/// What slurmstepd does about a step.
class StepSide {
  public:
    StepSide(Arguments arguments, AskDaemon ask)
        : arguments_{std::move(arguments)}, ask_{std::move(ask)} {}

    /// Slurm's callback in slurmstepd: the job or the step was given the option.
    void on_option() { option_seen_ = true; }

    /// REMOTE init_post_opt: asks the daemon, sets the job's environment. Without the option it
    /// looks into that environment, and that is all.
    void on_step_begins(SpankHandle& handle);

    /// In the forked task, still root, in the job's private /tmp if it has one but not yet in a
    /// container: are the files where they will be looked for?
    void look_around();

    /// In the forked task, before its program: may it start? If not, says why once per step.
    [[nodiscard]] bool may_start(SpankHandle& handle) const;

    /// In the forked task that may start: what the user asked to be told (--stage-verbose).
    void tell(SpankHandle& handle) const;

    /// REMOTE exit: what the step staged for itself can go.
    void on_step_ends(SpankHandle& handle) const;

    /// Something of ours broke: if files were asked for, tasks must not start.
    void on_breakdown();

  private:
    struct Failure {
        std::string sentence;
        bool is_local;  ///< Known to this node alone; else every node has the same.
    };

    [[nodiscard]] bool concerns_job(const SpankHandle& handle, bool has_step_specs) const;
    void ask_for_job(SpankHandle& handle);
    void stage_for_step(SpankHandle& handle, const std::string& specs);
    void judge(SpankHandle& handle, const Result<Answer>& answer, bool may_be_unknown);
    void fail(SpankHandle& handle, std::string sentence, bool is_local);

    Arguments arguments_;
    AskDaemon ask_;
    bool option_seen_ = false;
    bool is_concerned_ = false;
    bool has_staged_ = false;  ///< This step sent a STAGE of its own.
    std::optional<Failure> failure_;
    std::optional<Verdict> job_;
    std::optional<Verdict> step_;
    Visibility visibility_;
    std::optional<std::string> hidden_;  ///< Why the files are not to be seen.
};

}  // namespace stage
