// What does the root draw for a stage, and where do the others live?
//
// Addresses come from Slurm (NodeAddr), asked once, here: no other node has to. Where slurmctld
// is silent, what it said before serves: each daemon proves who it is all the same. The rest is
// drawn from getrandom() within the site's limits.
#pragma once

#include "stager/daemon/plan.h"
#include "stager/daemon/slurm_asker.h"

#include <functional>

namespace stage {

/// From this size on cards go through the daemons: a Get for each would be the slowest part of
/// the wire-up (facts: 111 ms at 1024).
inline constexpr std::size_t kCardsFollowFrom = 1024;

class Planner {
  public:
    using OnPlan = std::function<void(Result<StagePlan>)>;

    explicit Planner(Services& services) : services_{services}, asker_{services} {}

    /// `names`: the expanded node list, which Slurm's answer must match. `on_plan` comes later.
    /// A node that is alone needs nobody's address, and so no answer.
    void make(const StageRequest& request, std::vector<std::string> names, OnPlan on_plan);

  private:
    [[nodiscard]] Result<StagePlan> complete(const StageRequest& request,
                                             const std::vector<std::string>& names,
                                             const Result<SlurmAnswer>& answer);
    [[nodiscard]] std::optional<std::vector<SlurmNode>> remembered(
        const std::vector<std::string>& names) const;

    Services& services_;
    SlurmAsker asker_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/// All that is drawn; the nodes are left empty.
[[nodiscard]] StagePlan draw_plan(const Config& config, const StageRequest& request);

}  // namespace stage
