// Checks which Slurm node this host is.
#pragma once

#include "stager/cli/common/finding.h"
#include "stager/cli/doctor/slurm/scontrol.h"
#include "stager/config/config.h"

#include <optional>

namespace stage {

/// True if slurmctld has listed nodes and none of them is on `host`: a submit host.
[[nodiscard]] bool is_no_node(const std::vector<HostedNode>& nodes, const std::string& host);

/// The NodeName of `host`, the first one of several; empty if there is none.
[[nodiscard]] std::string node_on(const std::vector<HostedNode>& nodes,
                                  const std::string& host);

/// That node's NodeAddr; empty if none is known.
[[nodiscard]] std::string address_on(const std::vector<HostedNode>& nodes,
                                     const std::string& host);

/// Compares NodeName= with Slurm's node; returns nothing if NodeName is not set.
[[nodiscard]] std::optional<Finding> judge_node_name(const Config& config,
                                                     const std::vector<HostedNode>& nodes,
                                                     const std::string& host);

/// What the plugin on a submit host judges submissions by. Doubtful if stagecast.conf sets no
/// key there, as it does after the package was installed.
[[nodiscard]] Finding judge_submissions(const Config& config);

/// The result of gethostname().
[[nodiscard]] std::string own_host();

}  // namespace stage
