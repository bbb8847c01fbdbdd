// Which node of Slurm's is this host, if any?
#pragma once

#include "stager/cli/doctor/finding.h"
#include "stager/cli/doctor/scontrol.h"
#include "stager/config/config.h"

#include <optional>

namespace stage {

/// slurmctld has told of nodes, and none of them is on `host`: jobs are submitted here at most.
[[nodiscard]] bool is_no_node(const std::vector<HostedNode>& nodes, const std::string& host);

/// Its NodeName, the first one of several; empty if none is known.
[[nodiscard]] std::string node_on(const std::vector<HostedNode>& nodes,
                                  const std::string& host);

/// That node's NodeAddr; empty if none is known.
[[nodiscard]] std::string address_on(const std::vector<HostedNode>& nodes,
                                     const std::string& host);

/// What NodeName= says against what Slurm does; nothing where it says nothing.
[[nodiscard]] std::optional<Finding> judge_node_name(const Config& config,
                                                     const std::vector<HostedNode>& nodes,
                                                     const std::string& host);

/// As gethostname() has it.
[[nodiscard]] std::string own_host();

}  // namespace stage
