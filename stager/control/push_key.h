// Makes the keys of pushes, which have no job.
#pragma once

#include "stager/control/message.h"

namespace stage {

/// Draws a random key for a push, and one for each of its rounds.
[[nodiscard]] StageKey random_push_key();

}  // namespace stage
