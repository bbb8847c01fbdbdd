// Counts the heap of the process, where the allocator says what it has given out.
#pragma once

#include <malloc.h>

#include <cstddef>

namespace stage::core::test {

/// The sanitizers' allocators do not say it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsCounted = false;
#else
inline constexpr bool kIsCounted = true;
#endif

/// The bytes of this process's heap, with what the allocator adds.
inline std::size_t heap_bytes() {
    const auto heap = mallinfo2();
    return heap.uordblks + heap.hblkhd;
}

}  // namespace stage::core::test
