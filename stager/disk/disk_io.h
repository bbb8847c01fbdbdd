// How do whole spans get to a descriptor and back?
//
// pread and pwrite again and again until all is done: interrupted and short ones are no news.
#pragma once

#include "transport/base/units.h"

#include <cstdint>

namespace stage {

/// Reads until `room` is full or the file ends. Gives the bytes read, or -1 and errno.
[[nodiscard]] std::int64_t read_fully(int fd, MutableBytes room, std::uint64_t offset);

/// Writes all of it. False and errno otherwise.
[[nodiscard]] bool write_fully(int fd, Bytes bytes, std::uint64_t offset);

/// True if the two agree from the beginning to `size`. False and errno 0 where they don't.
[[nodiscard]] bool has_same_bytes(int one, int other, std::uint64_t size);

/// Makes the empty file as long as it will be. All its room is taken before the first byte, but
/// in memory: there that takes 0.3 s a GB, during which the blocks that come find their disk
/// thread busy, and places nothing better. The errno, or 0.
[[nodiscard]] int take_room(int fd, std::uint64_t bytes);

}  // namespace stage
