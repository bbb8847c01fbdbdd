// What a member can give to its peers: the interface through which the repair server asks.
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

    /// The chunk's bytes are in the block's buffer.
    [[nodiscard]] virtual bool has(BlockIndex block, std::uint32_t chunk) const = 0;
    /// The block is not resident but can be read back completely.
    [[nodiscard]] virtual bool can_load(BlockIndex block) const = 0;
    /// This member will never be able to give the block.
    [[nodiscard]] virtual bool is_absent(BlockIndex block) const = 0;
    /// The number of the block's chunks; 0 if it is not known.
    [[nodiscard]] virtual std::uint32_t chunks(BlockIndex block) const = 0;
    /// The body of a DESCRIBE for this block and at most `count - 1` after it; empty if the
    /// descriptor is unknown.
    [[nodiscard]] virtual std::vector<std::byte> describe(BlockIndex block,
                                                          std::uint32_t count) const = 0;
    /// The descriptor will be known when the block is read back, which is worth it.
    [[nodiscard]] virtual bool is_described_by_load(BlockIndex /*block*/) const {
        return false;
    }
};

}  // namespace stage::core
