// Finds the job id of an array's task.
//
// squeue shows "27_1"; that job has an id of its own, by which everything else knows it.
#pragma once

#include "transport/base/result.h"

#include <string>
#include <string_view>

namespace stage {

/// True for a text like "27_1".
[[nodiscard]] bool is_array_task(std::string_view text);

/// Asks slurmctld for the job's id: possible while it runs, and for MinJobAge after that.
[[nodiscard]] Result<std::string> job_of_task(const std::string& task);

}  // namespace stage
