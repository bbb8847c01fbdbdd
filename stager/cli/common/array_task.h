// Which job is that task of an array?
//
// "27_1" is what squeue shows; the job behind it has an id of its own, by which all else knows
// it.
#pragma once

#include "transport/base/result.h"

#include <string>
#include <string_view>

namespace stage {

/// "27_1".
[[nodiscard]] bool is_array_task(std::string_view text);

/// The job's id, as slurmctld tells it: while it runs, and for MinJobAge after that.
[[nodiscard]] Result<std::string> job_of_task(const std::string& task);

}  // namespace stage
