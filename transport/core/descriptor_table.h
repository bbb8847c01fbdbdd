// What is known of each block?
//
// Its descriptor, once it was heard: length, encoding, leaf digest. The first one counts; one
// that proved wrong is forgotten and asked for again.
#pragma once

#include "transport/base/units.h"
#include "transport/wire/body.h"

#include <cstdint>
#include <vector>

namespace stage::core {

class DescriptorTable {
  public:
    explicit DescriptorTable(std::uint32_t blocks) : table_(blocks) {}

    [[nodiscard]] bool knows(BlockIndex block) const {
        return block.index() < table_.size() && table_[block.index()].length != 0;
    }
    /// Requires knows(block).
    [[nodiscard]] const wire::Descriptor& at(BlockIndex block) const {
        return table_[block.index()];
    }

    /// True if it was not known. A block beyond the object is ignored.
    bool learn(BlockIndex block, const wire::Descriptor& descriptor);
    void forget(BlockIndex block);

    /// The lowest unknown block, or blocks(). Remembers how far it looked.
    [[nodiscard]] std::uint32_t first_unknown();
    /// The lowest unknown block in [from, below), or below.
    [[nodiscard]] std::uint32_t first_unknown(std::uint32_t from, std::uint32_t below) const;

    /// All known of `first` .. `first + count - 1` up to the first unknown, as a DESCRIBE's
    /// body; empty if the first is unknown.
    [[nodiscard]] std::vector<std::byte> describe(BlockIndex first, std::uint32_t count) const;

    [[nodiscard]] std::uint32_t known() const { return known_; }

  private:
    std::vector<wire::Descriptor> table_;  ///< A length of 0: unknown.
    std::uint32_t known_ = 0;
    std::uint32_t known_below_ = 0;  ///< All before it are known.
};

}  // namespace stage::core
