// Where does this node's daemon listen?
#pragma once

#include "transport/base/result.h"

#include <string>

namespace stage {

/// By the stagecast.conf at `config`; empty: the default one, which need not be there.
[[nodiscard]] Result<std::string> daemon_socket(const std::string& config);

}  // namespace stage
