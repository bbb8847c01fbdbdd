// Tells which symbolic links lead out of a directory tree.
//
// A copy of the tree elsewhere lacks what they lead to. As in rsync's --copy-unsafe-links a
// link is judged by its text alone: it leads out if it is absolute, or if ".." takes it above
// the top.
#pragma once

#include <string_view>

namespace stage {

/// `text` is that of a link that lies `depth` directories below the tree's top.
[[nodiscard]] bool leads_out(std::string_view text, std::size_t depth);

}  // namespace stage
