// Checks that files can be made in one of stagecast's own directories, by making one.
//
// Only a write detects a file system that became read-only after a disk error, is full or has
// no inodes left. A disk that hangs holds its writer in the kernel, where no signal ends it, so
// another process writes.
#pragma once

#include "stager/cli/common/finding.h"

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace stage {

/// Returns what `work`, 0 or an errno, returned in a process of its own. Nothing if that takes
/// longer than `longest`: the process is killed, and left if it does not end.
[[nodiscard]] std::optional<int> errno_within(std::chrono::milliseconds longest,
                                              const std::function<int()>& work);

/// Makes a file in the directory `path`, writes, syncs and removes it. `path` must belong to
/// root and be writable by root only. Fails with the cause and a remedy, after 5 s at most.
[[nodiscard]] Status try_writing(const std::string& path);

/// Returns `found`, or the error if `found` is fine and try_writing(path) fails.
[[nodiscard]] Finding and_writable(Finding found, const std::string& path);

/// Checks RunDir, where stagecastd keeps its socket and the jobs' results.
[[nodiscard]] Finding check_run_dir(const std::string& path);

}  // namespace stage
