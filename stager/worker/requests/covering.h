// Reduces many directories to a few that have all of them below.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace stage {

/// At most `count_max` directories (of absolute paths) of `bytes_max` bytes together, in order:
/// the deepest ones give way to their parents. Requires room for "/".
[[nodiscard]] std::vector<std::string> covering(std::set<std::string> directories,
                                                std::size_t count_max,
                                                std::size_t bytes_max);

}  // namespace stage
