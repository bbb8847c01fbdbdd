// Checks and splits the name of an archive's entry.
//
// An archive comes from an untrusted author: its names are accepted only if they lie, by their
// text, below the top directory. Whether a component is a link is checked on the disk
// (unpack_tree.h).
#pragma once

#include "transport/base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// Returns "a", "b" for "./a//b/", and no parts for the top itself. Fails (Blame::user),
/// without the name, if the name is absolute, goes up, or is longer or deeper than a file
/// system allows.
[[nodiscard]] Result<std::vector<std::string>> member_parts(std::string_view name);

}  // namespace stage
