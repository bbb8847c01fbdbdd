// Checks the destinations of all files of a stage together, before anything is made there.
#pragma once

#include "stager/files/targets/sink_targets.h"

namespace stage {

/// A directory tree replaces all that lies below its name: nothing else of the stage may lie
/// there.
[[nodiscard]] Status check_nesting(const SinkTargets& targets);

/// Gives up each program that needs a file at a path that this node has not, unless another
/// file of the stage comes there.
[[nodiscard]] Status check_needed_paths(SinkTargets& targets);

/// Gives up what has no room: each disk must have room for all that is to lie on it. What else
/// is written there meanwhile, and what no file system promises, shows when the room is taken.
/// Optional files get what the others leave, in their order.
[[nodiscard]] Status check_room(SinkTargets& targets);

}  // namespace stage
