// The size of the object, and how it is cut into blocks and chunks.
#pragma once

#include "transport/base/units.h"

#include <cstdint>

namespace stage::core {

/// Before every instant that a driver passes, and still safe to subtract from one: always due.
inline constexpr Instant kLongAgo{Duration::min() / 4};

struct ObjectShape {
    std::uint32_t blocks = 0;
    std::uint64_t object_bytes = 0;  ///< Sum of the blocks' decoded lengths.

    bool operator==(const ObjectShape&) const = default;
};

/// A place in the first pass. Places compare in the order in which the chunks are sent.
struct Position {
    std::uint32_t block = 0;
    std::uint32_t chunk = 0;

    auto operator<=>(const Position&) const = default;
};

class Cut {
  public:
    explicit Cut(std::uint32_t chunk_bytes) : chunk_bytes_{chunk_bytes} {}

    [[nodiscard]] std::uint32_t chunk_bytes() const { return chunk_bytes_; }

    /// The number of chunks of a block with this length on the wire.
    [[nodiscard]] std::uint32_t chunks(std::uint32_t wire_length) const {
        return (wire_length + chunk_bytes_ - 1U) / chunk_bytes_;
    }
    /// The number of chunks of the largest block.
    [[nodiscard]] std::uint32_t chunks_max() const { return chunks(kBlockBytes); }

    /// The length of one chunk of such a block. Requires chunk < chunks(wire_length).
    [[nodiscard]] std::uint32_t length(std::uint32_t wire_length, std::uint32_t chunk) const {
        const std::uint32_t rest = wire_length - chunk * chunk_bytes_;
        return rest < chunk_bytes_ ? rest : chunk_bytes_;
    }

  private:
    std::uint32_t chunk_bytes_;
};

}  // namespace stage::core
