// Turns the errno of a file operation into an error message for the user.
//
// "/shared/input.dat: No space left on device; free some space below /tmp, or choose another
// destination" names the file, the cause and the remedy. The blame is the user's for what a
// user can remedy, and the node's for a broken disk.
#pragma once

#include "transport/base/result.h"

#include <cstdint>
#include <string>

namespace stage {

/// The error for a source `path` that could not be opened or read.
[[nodiscard]] Error source_error(const std::string& path, int cause);

/// The error for a destination `path` that could not be made, written or renamed.
[[nodiscard]] Error target_error(const std::string& path, int cause);

/// The error for a hard link `path` to an existing file that could not be made.
[[nodiscard]] Error link_error(const std::string& path, int cause);

/// The error for a file that a stage found at its destination and kept, and that was removed or
/// replaced since.
[[nodiscard]] Error was_taken_away(const std::string& path);

/// The error for a stage of more bytes than MaxBytes in this node's stagecast.conf allows.
[[nodiscard]] Error too_many_bytes(std::uint64_t bytes, std::uint64_t bytes_max);

}  // namespace stage
