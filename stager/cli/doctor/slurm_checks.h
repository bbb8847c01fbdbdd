// Is Slurm set up so that files can be staged?
#pragma once

#include "stager/cli/doctor/finding.h"
#include "stager/cli/doctor/scontrol.h"
#include "stager/config/config.h"

namespace stage {

/// Where this host's slurm.conf may be, in the order in which Slurm looks. The controller's is
/// among them: it is also where a Slurm of the site's own build looks by default. The last one
/// is slurmd's, where it got its configuration from slurmctld (configless).
[[nodiscard]] std::vector<std::string> slurm_confs(const SlurmSettings& settings);

/// By what `scontrol show config` says; a plugstack.conf that it does not name is looked for
/// beside the first of `slurm_confs` that exists.
[[nodiscard]] std::vector<Finding> judge_slurm(const Config& config,
                                               const SlurmSettings& settings,
                                               const std::vector<std::string>& slurm_confs);

}  // namespace stage
