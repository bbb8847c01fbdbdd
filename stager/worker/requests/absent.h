// Adds a remedy to the error for a missing file.
//
// The remedy depends on the reader: a job's first node reads a job's files, the node where a
// push was started reads its files, and each node reads the copy that a push is compared with.
#pragma once

#include "stager/control/message.h"

namespace stage {

/// Adds a remedy to `why` if it reports that a source of that stage is missing.
[[nodiscard]] Error about_source(Error why, const StageKey& key);

/// Does the same for the copy at a push's destination.
[[nodiscard]] Error about_copy(Error why);

}  // namespace stage
