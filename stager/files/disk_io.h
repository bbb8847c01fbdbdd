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

}  // namespace stage
