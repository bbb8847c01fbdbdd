// Checks whether a disk has enough free space for an optional copy.
#pragma once

#include <cstdint>

namespace stage {

/// True if the disk of the open `file` has `bytes` free, and as much again for other processes.
[[nodiscard]] bool has_spare_room(int file, std::uint64_t bytes);

}  // namespace stage
