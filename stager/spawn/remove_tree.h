// Removes the files of a stage that has ended, safely even if its user has set traps for root.
//
// First it removes, as the user, what root's cleanup lists (cleanup_lists.h) name outside the
// stage's directory. Then it removes the stage's directory: as the user, who can remove nothing
// that the user's shell could not, and as root only what lies in directories of the user. All
// walks use descriptors (removal/empty_directory.h). Runs in a child of the spawner.
#pragma once

#include "stager/spawn/request.h"
#include "transport/base/result.h"

#include <chrono>

namespace stage {

/// How long a process that acts as the user may take. Without a limit a path that hangs, for
/// instance on a FUSE file system, would block every stage that waits for the job's end.
struct RemovalLimits {
    std::chrono::seconds lists{60};       ///< After that the next sweep continues the lists.
    std::chrono::seconds directory{600};  ///< After that root removes the rest.
};

/// Removes `what` below the open directory StageRoot. Files that do not exist are no error. The
/// error names the first file that could not be removed. A part of a job's directory that
/// belongs to another user is not removed: it is set aside in StageRoot/.stagecast/left.JOB,
/// which only root can enter. To remove what is left there, name it: {".stagecast", "left.42"}.
Status remove_tree(int root, const RemoveRequest& what, RemovalLimits limits = {});

}  // namespace stage
