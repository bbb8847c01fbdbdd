// Stores the descriptors that a member knows: length, encoding and leaf digest of each block.
//
// The first descriptor heard of a block counts. One that proved wrong is forgotten and
// requested again. A receiver has room for a fixed number, whatever the object's size: from its
// first missing block on. Later descriptors replace those of held blocks. Up to its *horizon*,
// which is one answer short of the end of that room, a member requests descriptors and opens
// blocks. The source has room for all.
#pragma once

#include "transport/base/units.h"
#include "transport/wire/body.h"

#include <cstdint>
#include <vector>

namespace stage::core {

class DescriptorTable {
  public:
    /// For an object of `blocks` blocks, with room for `room` descriptors. Requires room >= 1.
    DescriptorTable(std::uint32_t blocks, std::uint32_t room);

    [[nodiscard]] bool knows(BlockIndex block) const {
        const Entry& entry = entries_[block.index() % entries_.size()];
        return entry.block == block && entry.descriptor.length != 0;
    }
    /// Requires knows(block).
    [[nodiscard]] const wire::Descriptor& at(BlockIndex block) const {
        return entries_[block.index() % entries_.size()].descriptor;
    }

    /// True if the descriptor was not known. A block before the needed ones, or beyond the
    /// room, is ignored.
    bool learn(BlockIndex block, const wire::Descriptor& descriptor);
    void forget(BlockIndex block);

    /// All blocks before `block` are held: their descriptors may be replaced by later ones.
    void advance(std::uint32_t block);
    /// A block before the horizon may be requested: there is room for the whole answer.
    [[nodiscard]] std::uint32_t horizon() const;

    /// The lowest block that is needed and unknown, or blocks(). Remembers how far it searched.
    [[nodiscard]] std::uint32_t first_unknown();
    /// The lowest unknown block in [from, below), or below.
    [[nodiscard]] std::uint32_t first_unknown(std::uint32_t from, std::uint32_t below) const;

    /// The body of a DESCRIBE of the known descriptors of `first` .. `first + count - 1`, up to
    /// the first unknown one; empty if that is `first`.
    [[nodiscard]] std::vector<std::byte> describe(BlockIndex first, std::uint32_t count) const;

  private:
    struct Entry {
        BlockIndex block;
        wire::Descriptor descriptor;  ///< Length 0: unknown.
    };

    [[nodiscard]] std::uint32_t end() const;

    std::uint32_t blocks_;
    std::vector<Entry> entries_;     ///< A block's entry is at block % room.
    std::uint32_t needed_from_ = 0;  ///< All blocks before it are held.
    std::uint32_t known_below_ = 0;  ///< All blocks before it are known, or were.
};

}  // namespace stage::core
