// Is CacheDir a place where the node cache may lie?
//
// As fit as StageRoot, and nobody's but the cache's: what lies there is counted, swept and sent
// away, and the directory becomes root's alone. So one that is StageRoot, holds it or lies in
// it is refused, and so is one that holds anything else than the cache has put there.
#pragma once

#include "stager/config/config.h"
#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

namespace stage {

/// A descriptor of CacheDir, if it is fit. Made, too, where only its last component is missing.
[[nodiscard]] Result<UniqueFd> look_at_cache_directory(const Config& config);
/// A descriptor of CacheDir, which is root's alone (0700) from then on; made if only its last
/// component is missing. Fails (Blame::node) with what is wrong, having changed nothing.
[[nodiscard]] Result<UniqueFd> open_cache_directory(const Config& config);

}  // namespace stage
