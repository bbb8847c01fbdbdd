// How is a job's directory removed when its owner may have filled it with traps?
//
// First as the user, who can remove nothing that a shell of the user's could not; then, for
// what other users left in it and for the entry itself, as root. Both walk by descriptors
// (files/empty_directory.h). Runs in a child of the spawner.
#pragma once

#include "stager/spawn/request.h"
#include "transport/base/result.h"

#include <chrono>

namespace stage {

/// Large trees take their time; but without an end a path of the user's that hangs would hold
/// up all that waits for the job's end.
inline constexpr std::chrono::seconds kRemoveAsUserMax{3600};

/// Removes `what` below the open directory `root`. What is not there is fine. The error names
/// what could not be removed first. `longest`: for each of its turns as the user.
Status remove_tree(int root,
                   const RemoveRequest& what,
                   std::chrono::seconds longest = kRemoveAsUserMax);

}  // namespace stage
