// Finds the account for the daemon's own helpers that need no rights.
//
// The packages make a system user "stagecast". Where it is missing the helpers are nobody's,
// which other services may be, too: these could signal one another, and no more.
#pragma once

#include "stager/spawn/request.h"

namespace stage {

inline constexpr const char* kServiceUser = "stagecast";

/// Asks the name service: at the daemon's start, not later.
[[nodiscard]] UserIdentity service_user();

}  // namespace stage
