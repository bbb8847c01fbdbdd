// What can a member give to others?
//
// The question that answering a request asks of whoever holds the blocks.
#pragma once

#include "transport/base/units.h"
#include "transport/wire/body.h"

#include <cstdint>

namespace stage::core {

class Holdings {
  public:
    Holdings() = default;
    Holdings(const Holdings&) = delete;
    Holdings& operator=(const Holdings&) = delete;
    virtual ~Holdings() = default;

    /// The chunk's bytes are in the block's buffer now.
    [[nodiscard]] virtual bool has(BlockIndex block, std::uint32_t chunk) const = 0;
    /// The block is not resident, but whole where it can be read back from.
    [[nodiscard]] virtual bool can_load(BlockIndex block) const = 0;
    /// How many chunks the block has; 0 if that isn't known.
    [[nodiscard]] virtual std::uint32_t chunks(BlockIndex block) const = 0;
    /// The body of a DESCRIBE for this block and at most `count - 1` after it; empty if
    /// unknown.
    [[nodiscard]] virtual std::vector<std::byte> describe(BlockIndex block,
                                                          std::uint32_t count) const = 0;
};

}  // namespace stage::core
