// Finds what slurmctld knows of a job's staging, where no daemon can be asked: on login nodes.
#pragma once

#include "transport/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace stage {

struct JobInSlurm {
    std::string state;      ///< "RUNNING"
    std::string node_list;  ///< "n[1-4]"; empty before the job has nodes.
    std::string staging;    ///< stagecast's part of the AdminComment, without its name.
};

/// Reads what "scontrol show job" prints of one job.
[[nodiscard]] JobInSlurm parse_job_in_slurm(std::string_view text);

/// Asks slurmctld by scontrol. Fails (Blame::user) if it does not report the job.
[[nodiscard]] Result<JobInSlurm> job_in_slurm(std::uint32_t job);

}  // namespace stage
