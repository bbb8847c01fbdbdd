// The plugin's part in a node's prolog and epilog.
//
// In the prolog it announces the job to the node's daemon and waits for the group's verdict, so
// that no node's prolog returns before all nodes know it. A prolog cannot fail a job without
// draining its node; the verdict is therefore enforced where tasks begin (step_side.h). In the
// epilog it detaches the user's mounts (user_mounts.h) and reports the job's end to the daemon.
#pragma once

#include "spank/host/options.h"
#include "spank/host/spank_handle.h"
#include "stager/control/client.h"

#include <functional>

namespace stage {

/// ask_daemon() with this node's socket, or a test's replacement.
using AskDaemon = std::function<Result<Answer>(const Request&, const CallTimeouts&)>;

/// Does nothing unless the prolog's environment has specs.
class PrologSide {
  public:
    PrologSide(Arguments arguments, AskDaemon ask)
        : arguments_{std::move(arguments)}, ask_{std::move(ask)} {}

    /// True if the prolog's environment has specs. Costs a getenv.
    [[nodiscard]] bool is_concerned(const SpankHandle& handle) const;
    /// Also true if a step has announced the job on this node, which the epilog's environment
    /// does not show. Costs an additional access(2).
    [[nodiscard]] bool is_to_conclude(const SpankHandle& handle) const;

    /// Sends STAGE and waits for the verdict. An Error is for slurmd's log; the job learns it
    /// later.
    [[nodiscard]] Status announce(const SpankHandle& handle) const;
    /// Detaches what the user has mounted over the job's files, then sends END.
    [[nodiscard]] Status conclude(const SpankHandle& handle) const;

    /// The longest duration of announce() and conclude().
    [[nodiscard]] Duration announce_limit() const;
    [[nodiscard]] Duration conclude_limit() const;

  private:
    [[nodiscard]] std::string record_of(std::uint32_t job_id) const;

    Arguments arguments_;
    AskDaemon ask_;
};

}  // namespace stage
