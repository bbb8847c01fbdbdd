// Makes a stage's plan on the job's first node: the members, their addresses and random values.
//
// The node list of a job comes from slurmd. That of a step comes from its srun, which is a
// process of the user, and so does that of a job that a step announces because no prolog did:
// the plan of such a stage over several nodes waits until slurmctld has confirmed which nodes
// are the job's, and fails if the list has any other node. It also fails if slurmctld does not
// answer; Slurm could hardly have begun the step without slurmctld.
//
// Addresses come from Slurm (NodeAddr), and are asked for again after kAddressAge, or if a node
// could not be reached. No other node has to ask. If slurmctld does not answer, its last answer
// is used: each daemon proves its identity anyway. The other values are drawn from getrandom()
// within the site's limits.
#pragma once

#include "stager/daemon/base/basics.h"
#include "stager/daemon/base/node_addresses.h"
#include "stager/daemon/base/slurm_asker.h"
#include "stager/daemon/run/data_ports.h"
#include "stager/daemon/tree/plan.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stage {

class HostPool;

class Planner {
  public:
    /// All of it outlives the object.
    struct Resources {
        NodeAddresses& addresses;
        const HostPool& hosts;
        const DataPorts& ports;
    };
    using OnPlan = std::function<void(Result<StagePlan>)>;

    /// `basics` outlives the object.
    Planner(const Basics& basics, const Resources& resources)
        : basics_{basics},
          addresses_{resources.addresses},
          hosts_{resources.hosts},
          ports_{resources.ports},
          asker_{basics.loop, basics.children} {}
    Planner(const Planner&) = delete;
    Planner& operator=(const Planner&) = delete;
    ~Planner() = default;

    /// `names`: the expanded node list. `on_plan` is called later. To be called once.
    void make(const StageRequest& request, std::vector<std::string> names, OnPlan on_plan);

    /// The job as slurmctld has just reported it, if it was asked.
    [[nodiscard]] const std::optional<SlurmJob>& job() const { return job_; }

  private:
    void on_job(const Result<SlurmAnswer>& answer);
    void find_addresses();
    void on_addresses(const Result<SlurmAnswer>& answer);
    [[nodiscard]] std::vector<std::string> unknown() const;
    [[nodiscard]] bool has_all() const;
    [[nodiscard]] Result<StagePlan> complete() const;

    const Basics& basics_;
    NodeAddresses& addresses_;
    const HostPool& hosts_;
    const DataPorts& ports_;
    SlurmAsker asker_;
    StageRequest request_;
    std::vector<std::string> names_;
    OnPlan on_plan_;
    std::optional<SlurmJob> job_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/// Why a step must not be staged on `names`, some of which are not nodes of `job`; or nothing.
[[nodiscard]] std::optional<Error> objection_to_nodes(const std::vector<std::string>& names,
                                                      const SlurmJob& job);

/// Draws all random values of a plan; its nodes are left empty.
[[nodiscard]] StagePlan draw_plan(const Config& config,
                                  const DataPorts& ports,
                                  const StageRequest& request);

/// Draws another port for a group whose members can't open `excluded`; nothing if none is left.
[[nodiscard]] std::optional<std::uint16_t> draw_port(const Config& config,
                                                     const DataPorts& ports,
                                                     const StagePlan& plan,
                                                     const DataPorts::Ports& excluded);

}  // namespace stage
