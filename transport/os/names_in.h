// Lists the names in a directory.
#pragma once

#include <string>
#include <vector>

namespace stage {

/// Of the open `directory`, which may be one of O_PATH: all but "." and "..", in no order. Of
/// one that can't be read (-1 is none) there are no names.
[[nodiscard]] std::vector<std::string> names_in(int directory);

}  // namespace stage
