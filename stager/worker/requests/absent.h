// What is to be done about a file that is not there?
//
// That depends on who reads: a job's first node for a job, the node where it was begun for a
// push, and each node what a push is compared with.
#pragma once

#include "stager/control/message.h"

namespace stage {

/// `why` with a remedy, where a source of that stage is absent; else as it is.
[[nodiscard]] Error about_source(Error why, const StageKey& key);

/// Likewise, of what lies where a push went.
[[nodiscard]] Error about_copy(Error why);

}  // namespace stage
