// Lists the names in a directory.
#pragma once

#include <string>
#include <vector>

namespace stage {

/// The names in the open `directory`, which may be one of O_PATH: all but "." and "..", in no
/// order. None if the directory can't be read (-1 is no directory).
[[nodiscard]] std::vector<std::string> names_in(int directory);

}  // namespace stage
