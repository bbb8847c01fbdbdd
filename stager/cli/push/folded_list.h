// Writes node names as a compressed list, for people: "n[0-3,7],login1".
#pragma once

#include <string>
#include <vector>

namespace stage {

/// Names that differ only in their last number share a bracket, in the order of the first of
/// them. expand_host_list() of the result has the same names, each once. Names may be any text:
/// one that is none of Slurm's stands as it is.
[[nodiscard]] std::string folded_list(const std::vector<std::string>& names);

}  // namespace stage
