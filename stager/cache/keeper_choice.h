// Which daemon does everybody ask about a file?
//
// All nodes must come to the same one without talking. So the cluster's nodes are drawn by
// their names: a few of them may be keepers, and of those each file draws one. A node that
// comes or goes changes the answer for its own files only; two nodes that differ for a moment
// ask two keepers, and the file is read twice.
#pragma once

#include "stager/cache/leases.h"

#include <string>
#include <string_view>
#include <vector>

namespace stage {

inline constexpr std::size_t kKeepersMax = 64;

/// At most kKeepersMax of `nodes`, whatever their order.
[[nodiscard]] std::vector<std::string> draw_keepers(std::vector<std::string> nodes);

/// One of `keepers`, an index; requires that there is one.
[[nodiscard]] std::size_t keeper_of(const std::vector<std::string>& keepers,
                                    const LeasedFile& file);

}  // namespace stage
