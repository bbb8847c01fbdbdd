// Buffers beyond those in memory, for blocks that lack chunks.
#pragma once

#include <cstddef>

namespace stage {

class SpareBuffers {
  public:
    SpareBuffers() = default;
    SpareBuffers(const SpareBuffers&) = delete;
    SpareBuffers& operator=(const SpareBuffers&) = delete;
    virtual ~SpareBuffers() = default;

    /// A buffer of a block's size with arbitrary content, which lives as long as this; null if
    /// there is none any more. The caller keeps it for the next block that needs one.
    [[nodiscard]] virtual std::byte* take() = 0;
};

}  // namespace stage
