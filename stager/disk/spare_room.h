// Does a disk have room for something that nobody needs?
#pragma once

#include <cstdint>

namespace stage {

/// So much, and as much again for whoever needs some meanwhile, on the disk of the open `file`.
[[nodiscard]] bool has_spare_room(int file, std::uint64_t bytes);

}  // namespace stage
