// Makes a stage's plan on the job's first node: who takes part, where, and what is drawn.
//
// A job's node list is slurmd's word. A step's is its srun's, which is the user's process, and
// so is a job's that a step announces because no prolog did: the plan of such a stage over
// several nodes waits until slurmctld has said which nodes are the job's, and a list with any
// other node fails. Without slurmctld's word such a step fails, too; Slurm could hardly have
// begun it without slurmctld.
//
// Addresses come from Slurm (NodeAddr), and are asked for anew after kAddressAge, or where a
// node could not be reached. No other node has to ask. Where slurmctld is silent, what it said
// before serves: each daemon proves who it is all the same. The rest is drawn from getrandom()
// within the site's limits.
#pragma once

#include "stager/daemon/base/slurm_asker.h"
#include "stager/daemon/run/data_ports.h"
#include "stager/daemon/tree/plan.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stage {

/// From this size on cards go through the daemons: a Get for each would be the slowest part of
/// the wire-up (facts: 111 ms at 1024).
inline constexpr std::size_t kCardsFollowFrom = 1024;

/// A node that was switched off and on may be elsewhere, and that takes longer.
inline constexpr Duration kAddressAge = std::chrono::minutes{5};

class Planner {
  public:
    using OnPlan = std::function<void(Result<StagePlan>)>;

    /// `services` outlives it.
    explicit Planner(Services& services) : services_{services}, asker_{services} {}
    Planner(const Planner&) = delete;
    Planner& operator=(const Planner&) = delete;
    ~Planner() = default;

    /// `names`: the expanded node list. `on_plan` comes later. Once in a life.
    void make(const StageRequest& request, std::vector<std::string> names, OnPlan on_plan);

    /// The job as slurmctld has just told it, if it was asked.
    [[nodiscard]] const std::optional<SlurmJob>& job() const { return job_; }

  private:
    void on_job(const Result<SlurmAnswer>& answer);
    void find_addresses();
    void on_addresses(const Result<SlurmAnswer>& answer);
    [[nodiscard]] std::vector<std::string> unknown() const;
    [[nodiscard]] bool has_all() const;
    [[nodiscard]] Result<StagePlan> complete() const;

    Services& services_;
    SlurmAsker asker_;
    StageRequest request_;
    std::vector<std::string> names_;
    OnPlan on_plan_;
    std::optional<SlurmJob> job_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/// Why a step must not be staged on `names`: not all of them are nodes of `job`. Or nothing.
[[nodiscard]] std::optional<Error> objection_to_nodes(const std::vector<std::string>& names,
                                                      const SlurmJob& job);

/// All that is drawn; the nodes are left empty.
[[nodiscard]] StagePlan draw_plan(const Services& services, const StageRequest& request);

/// Another port for a group, where members can't open `excluded`; none: all are.
[[nodiscard]] std::optional<std::uint16_t> draw_port(const Services& services,
                                                     const StagePlan& plan,
                                                     const DataPorts::Ports& excluded);

}  // namespace stage
