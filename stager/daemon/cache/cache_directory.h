// Checks and opens CacheDir, the directory of the node cache.
//
// CacheDir must meet the same conditions as StageRoot, and only the cache may use it: what lies
// there is counted, swept and sent to other nodes, and the directory becomes accessible to root
// only. A directory that is StageRoot, contains it or lies in it is refused, and so is one that
// holds anything that the cache has not put there.
#pragma once

#include "stager/config/config.h"
#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

namespace stage {

/// Returns a descriptor of CacheDir if it meets the conditions. Makes it, too, if only its last
/// component is missing.
[[nodiscard]] Result<UniqueFd> look_at_cache_directory(const Config& config);
/// Returns a descriptor of CacheDir, which is accessible to root only (0700) from then on;
/// makes it if only its last component is missing. On an error (Blame::node) nothing has
/// changed.
[[nodiscard]] Result<UniqueFd> open_cache_directory(const Config& config);

}  // namespace stage
