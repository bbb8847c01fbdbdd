// Finds the control socket of this node's daemon.
#pragma once

#include "transport/base/result.h"

#include <string>

namespace stage {

/// Reads it from the stagecast.conf at `config`; empty: the default file, which may be missing.
[[nodiscard]] Result<std::string> daemon_socket(const std::string& config);

}  // namespace stage
