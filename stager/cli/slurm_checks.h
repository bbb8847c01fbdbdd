// Is Slurm set up so that files can be staged?
#pragma once

#include "stager/cli/finding.h"
#include "stager/config/config.h"

namespace stage {

/// Asks slurmctld by `scontrol show config`, for as long as scontrol takes.
[[nodiscard]] std::vector<Finding> check_slurm(const Config& config);

/// The same of what scontrol printed.
[[nodiscard]] std::vector<Finding> judge_slurm(const Config& config,
                                               const std::string& printed);

}  // namespace stage
