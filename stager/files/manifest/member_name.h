// Where may a member of an archive come, and what is its directory called?
//
// An archive is a stranger's: a member's name is taken apart, and only what lies below the top
// by its letters is taken. Whether a part of it is a link is for the disk to say
// (unpack_tree.h).
#pragma once

#include "transport/base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// "a", "b" of "./a//b/"; none for the top itself. Fails (Blame::user), without the name, on
/// what is absolute, goes up, or is longer or deeper than a file system takes.
[[nodiscard]] Result<std::vector<std::string>> member_parts(std::string_view name);

}  // namespace stage
