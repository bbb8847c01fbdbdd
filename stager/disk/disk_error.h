// What does a disk's errno mean to the person who reads the job's output?
//
// "/shared/input.dat: No space left on device; free some space below /tmp, or choose another
// destination": the file, the cause, the remedy. The blame follows: what a user can mend is the
// user's, a broken disk is the node's.
#pragma once

#include "transport/base/result.h"

#include <cstdint>
#include <string>

namespace stage {

/// Reading or opening the source `path` failed.
[[nodiscard]] Error source_error(const std::string& path, int cause);

/// Making, writing or renaming the destination `path` failed.
[[nodiscard]] Error target_error(const std::string& path, int cause);

/// What was found at its destination, and was to stay, is there no more.
[[nodiscard]] Error was_taken_away(const std::string& path);

/// More than MaxBytes of this node's stagecast.conf.
[[nodiscard]] Error too_many_bytes(std::uint64_t bytes, std::uint64_t bytes_max);

}  // namespace stage
