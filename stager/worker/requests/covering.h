// Reduces a set of directories to a few that contain all of them.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace stage {

/// Returns at most `count_max` directories (absolute paths) of at most `bytes_max` bytes in
/// total, in order: the deepest ones are replaced by their parents. Requires room for "/".
[[nodiscard]] std::vector<std::string> covering(std::set<std::string> directories,
                                                std::size_t count_max,
                                                std::size_t bytes_max);

}  // namespace stage
