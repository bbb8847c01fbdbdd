// How large is the object, and how is it cut?
//
// What an OFFER says, and the arithmetic on it: how many chunks a block of so many bytes has
// and how long each is.
#pragma once

#include "transport/base/units.h"

#include <cstdint>

namespace stage::core {

/// Before every instant that a driver tells, and near enough to be subtracted from it: due.
inline constexpr Instant kLongAgo{Duration::min() / 4};

struct ObjectShape {
    std::uint32_t blocks = 0;
    std::uint64_t object_bytes = 0;  ///< Sum of the blocks' decoded lengths.
};

/// A place in the first pass: all chunks before it come earlier. Compared as one number.
struct Position {
    std::uint32_t block = 0;
    std::uint32_t chunk = 0;

    auto operator<=>(const Position&) const = default;
};

class Cut {
  public:
    explicit Cut(std::uint16_t chunk_bytes) : chunk_bytes_{chunk_bytes} {}

    [[nodiscard]] std::uint16_t chunk_bytes() const { return chunk_bytes_; }

    /// Chunks of a block with so many bytes on the wire.
    [[nodiscard]] std::uint32_t chunks(std::uint32_t wire_length) const {
        return (wire_length + chunk_bytes_ - 1U) / chunk_bytes_;
    }
    /// Of the largest block.
    [[nodiscard]] std::uint32_t chunks_max() const { return chunks(kBlockBytes); }

    /// Length of one chunk of such a block. Requires chunk < chunks(wire_length).
    [[nodiscard]] std::uint32_t length(std::uint32_t wire_length, std::uint32_t chunk) const {
        const std::uint32_t rest = wire_length - chunk * chunk_bytes_;
        return rest < chunk_bytes_ ? rest : chunk_bytes_;
    }

  private:
    std::uint16_t chunk_bytes_;
};

}  // namespace stage::core
