// Finds the account of the daemon's helpers that need no privileges.
//
// The packages make a system user "stagecast". If it is missing, the helpers run as
// user nobody, as other services may, too: these could signal one another, but no more.
#pragma once

#include "stager/spawn/request.h"

namespace stage {

inline constexpr const char* kServiceUser = "stagecast";

/// Asks the name service, which may block: call it at the daemon's start only.
[[nodiscard]] UserIdentity service_user();

}  // namespace stage
