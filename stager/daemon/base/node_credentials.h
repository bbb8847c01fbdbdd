// Makes the credentials by which the daemons of a cluster log in to each other without munge.
#pragma once

#include "stager/config/config.h"
#include "stager/link/key_credentials.h"

#include <memory>

namespace stage {

class Loop;

/// What credentials of a key need of their daemon. `loop` outlives them.
[[nodiscard]] KeyCredentials::Surroundings surroundings_in(Loop& loop);

/// Reads AuthKeyFile=; without it there are none, and munge is asked. An unfit file is an
/// error: all other nodes would refuse a daemon that took munge instead.
[[nodiscard]] Result<std::unique_ptr<KeyCredentials>> node_credentials(const Config& config,
                                                                       Loop& loop);

}  // namespace stage
