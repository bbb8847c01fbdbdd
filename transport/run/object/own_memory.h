// How much memory does this process hold for itself?
//
// What it shares with nobody and no file: heap, stacks, block buffers. Pages of files are not
// in it, nor what the kernel holds for its sockets (see DriverCounters).
#pragma once

#include <cstdint>

namespace stage {

/// Bytes resident now (RssAnon of /proc/self/status); 0 where that can't be read.
[[nodiscard]] std::uint64_t own_memory_bytes();

}  // namespace stage
