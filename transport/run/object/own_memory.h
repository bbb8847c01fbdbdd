// Measures the private memory of this process.
//
// That is what it shares with no process and no file: heap, stacks, block buffers. Pages of
// files do not count, nor what the kernel holds for its sockets (see DriverCounters).
#pragma once

#include <cstdint>

namespace stage {

/// Bytes resident now (RssAnon of /proc/self/status); 0 where that can't be read.
[[nodiscard]] std::uint64_t own_memory_bytes();

}  // namespace stage
