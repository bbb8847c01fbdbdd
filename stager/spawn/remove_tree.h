// How is a job's directory removed when its owner may have filled it with traps?
//
// First as the user, who can remove nothing that a shell of the user's could not; then, for
// what other users left in it and for the entry itself, as root. Both walk by descriptors: a
// name is looked up only in an open directory, links are unlinked and never followed, a mount
// is never entered, and the way back up is taken only if it leads to the very directory that
// one came from. (Whoever moves a foreign directory in here gives it away.) Runs in a child of
// the spawner.
#pragma once

#include "stager/spawn/request.h"
#include "transport/base/result.h"

namespace stage {

/// Removes `what` below the open directory `root`. What is not there is fine. The error names
/// what could not be removed first.
Status remove_tree(int root, const RemoveRequest& what);

/// Removes all that is in the open directory `top`, as whoever we are; directories of our own
/// that forbid it are opened up by chmod. Goes on after a failure; the first one is the error.
Status empty_directory(int top);

}  // namespace stage
