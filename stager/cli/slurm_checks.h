// Is Slurm set up so that files can be staged?
#pragma once

#include "stager/cli/finding.h"
#include "stager/cli/scontrol.h"
#include "stager/config/config.h"

namespace stage {

/// By what `scontrol show config` says.
[[nodiscard]] std::vector<Finding> judge_slurm(const Config& config,
                                               const SlurmSettings& settings);

}  // namespace stage
