// Makes the credentials for links to daemons of other clusters (ClusterKeys=).
#pragma once

#include "stager/config/config.h"
#include "stager/link/key_credentials.h"
#include "transport/base/log.h"

#include <memory>

namespace stage {

class Loop;

/// None without a ClusterName=. A key that can't be read, or is unfit, is logged and left out:
/// the node serves its own cluster all the same. `loop` outlives the object.
[[nodiscard]] std::unique_ptr<KeyCredentials> cluster_credentials(const Config& config,
                                                                  const Logger& log,
                                                                  Loop& loop);

}  // namespace stage
