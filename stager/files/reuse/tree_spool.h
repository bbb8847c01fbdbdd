// Writes a staged directory tree once more, as the one file that the node cache keeps.
#pragma once

#include "stager/files/reuse/cache_candidates.h"

#include <functional>
#include <optional>

namespace stage {

/// `tree`: of entry `index`. The file has no name and lies beside the tree.
/// Nothing for an entry that is no tree or has no stamp, for a tree that was left as it stood
/// or has been changed since, where the disk has hardly room, or once `may_go_on`, which is
/// called at each block, returns false.
[[nodiscard]] std::optional<CacheCandidate> spool_tree(const Manifest& manifest,
                                                       std::size_t index,
                                                       Target& tree,
                                                       const HeldBlocks& held,
                                                       const std::function<bool()>& may_go_on);

}  // namespace stage
