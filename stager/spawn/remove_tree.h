// Removes the files of a stage that has ended, though its owner may have set traps for root.
//
// First what the stage left elsewhere, by root's cleanup lists (cleanup_lists.h), as the user.
// Then the stage's directory: as the user, who can remove nothing that a shell of the user's
// could not, and as root only what lies in directories of the user's. All of it walks by
// descriptors (removal/empty_directory.h). Runs in a child of the spawner.
#pragma once

#include "stager/spawn/request.h"
#include "transport/base/result.h"

#include <chrono>

namespace stage {

/// How long a process that acts as the user may take. Without an end a path that hangs, as a
/// FUSE file system's does, would hold up whatever waits for the job's end.
struct RemovalLimits {
    std::chrono::seconds lists{60};       ///< Then the next sweep follows the lists again.
    std::chrono::seconds directory{600};  ///< Then root removes the rest.
};

/// Removes `what` below the open directory StageRoot. What is not there is fine. The error
/// names what could not be removed first. Of a job's directory a part that belongs to another
/// user is not removed: it moves to StageRoot/.stagecast/left.JOB, which only root can enter.
Status remove_tree(int root, const RemoveRequest& what, RemovalLimits limits = {});

}  // namespace stage
