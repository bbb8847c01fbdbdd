// Makes the keys of pushes, which have no job.
#pragma once

#include "stager/control/message.h"

namespace stage {

/// Draws a random key for a push, and one for each of its rounds.
[[nodiscard]] StageKey random_push_key();
/// The key of a preflight check, which is no stage: one node may run several at a time.
[[nodiscard]] StageKey preflight_key();

}  // namespace stage
