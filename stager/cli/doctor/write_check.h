// Tells whether files can be made in one of stagecast's own directories, by making one.
//
// A file system that has become read-only after an error of its disk, that is full or has no
// inodes left looks well to everything but a write.
#pragma once

#include "stager/cli/doctor/finding.h"

#include <string>

namespace stage {

/// Makes a file in the directory `path`, writes and syncs it and removes it. `path` is root's;
/// no other user can write it. Fails with the cause and what to do.
[[nodiscard]] Status try_writing(const std::string& path);

/// `found`, or, where that is fine and try_writing(path) fails, why.
[[nodiscard]] Finding and_writable(Finding found, const std::string& path);

/// RunDir, where stagecastd keeps its socket and the jobs' results.
[[nodiscard]] Finding check_run_dir(const std::string& path);

}  // namespace stage
