// Checks the directory of the node cache.
//
// It checks the same as stagecastd at its start (daemon/cache/cache_directory.h), without
// making or changing anything, and whether CacheSize fits.
#pragma once

#include "stager/cli/common/finding.h"
#include "stager/config/config.h"

namespace stage {

/// Needs root.
[[nodiscard]] Finding check_cache_dir(const Config& config);

}  // namespace stage
