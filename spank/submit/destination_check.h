// Checks at submission that the site allows the destinations.
#pragma once

#include "stager/spec/stage_spec.h"

#include <string>
#include <vector>

namespace stage {

/// Fails (Blame::user) for an absolute destination below none of `roots`, which the nodes would
/// refuse after the job has waited in the queue. What depends on the job's number is left to
/// them, and everything if `roots` is empty.
[[nodiscard]] Status check_destination(const StageSpec& spec,
                                       const std::vector<std::string>& roots);

}  // namespace stage
