// Can the node cache lie where stagecast.conf says?
//
// As stagecastd asks at its start (daemon/cache/cache_directory.h), but that nothing is made or
// changed; and whether CacheSize would fit.
#pragma once

#include "stager/cli/doctor/finding.h"
#include "stager/config/config.h"

namespace stage {

/// Needs root.
[[nodiscard]] Finding check_cache_dir(const Config& config);

}  // namespace stage
