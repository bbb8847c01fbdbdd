// What does the plugin do in a node's prolog and epilog?
//
// In the prolog it announces the job to the node's daemon and waits for the group's verdict, so
// that no node's prolog returns before all nodes know it. A prolog cannot fail a job without
// draining its node: the verdict is enforced where tasks begin (step_side.h). In the epilog it
// tells the daemon that the job has ended.
#pragma once

#include "spank/host/options.h"
#include "spank/host/spank_handle.h"
#include "stager/control/client.h"

#include <functional>

namespace stage {

/// ask_daemon() on this node's socket, or a test's.
using AskDaemon = std::function<Result<Answer>(const Request&, const CallPatience&)>;

/// What job_prolog does about a job: nothing unless the specs have been handed to it.
class PrologSide {
  public:
    PrologSide(Arguments arguments, AskDaemon ask)
        : arguments_{std::move(arguments)}, ask_{std::move(ask)} {}

    /// The prolog's environment speaks of files to stage. Costs a getenv.
    [[nodiscard]] bool is_concerned(const SpankHandle& handle) const;
    /// Or a step has announced the job here, in words that the epilog does not see. Costs an
    /// access(2) more.
    [[nodiscard]] bool is_to_conclude(const SpankHandle& handle) const;

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

}  // namespace stage
