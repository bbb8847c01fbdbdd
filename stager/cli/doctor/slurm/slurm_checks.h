// Checks whether Slurm's configuration allows staging.
#pragma once

#include "stager/cli/common/finding.h"
#include "stager/cli/doctor/slurm/scontrol.h"
#include "stager/config/config.h"

namespace stage {

/// The possible paths of this host's slurm.conf, in Slurm's order. The controller's is among
/// them, as it is also the default of a Slurm that the site built. The last one is slurmd's
/// copy in a configless cluster.
[[nodiscard]] std::vector<std::string> slurm_confs(const SlurmSettings& settings);

/// Checks the output of `scontrol show config`. A plugstack.conf that it does not name is
/// searched beside the first of `slurm_confs` that exists.
[[nodiscard]] std::vector<Finding> judge_slurm(const Config& config,
                                               const SlurmSettings& settings,
                                               const std::vector<std::string>& slurm_confs);

}  // namespace stage
