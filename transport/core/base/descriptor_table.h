// What is known of each block?
//
// Its descriptor, once it was heard: length, encoding, leaf digest. The first one counts; one
// that proved wrong is forgotten and asked for again. A receiver has room for so many, whatever
// the object's size: from the first block that it doesn't hold on; later ones take the places
// of those before it. Up to its *horizon*, an answer short of the end of that room, a member
// asks for descriptors and opens blocks; what lies beyond comes once the horizon does. The
// source has room for all.
#pragma once

#include "transport/base/units.h"
#include "transport/wire/body.h"

#include <cstdint>
#include <vector>

namespace stage::core {

class DescriptorTable {
  public:
    /// Of an object of `blocks`, `room` descriptors at a time. Requires room >= 1.
    DescriptorTable(std::uint32_t blocks, std::uint32_t room);

    [[nodiscard]] bool knows(BlockIndex block) const {
        const Entry& entry = entries_[block.index() % entries_.size()];
        return entry.block == block && entry.descriptor.length != 0;
    }
    /// Requires knows(block).
    [[nodiscard]] const wire::Descriptor& at(BlockIndex block) const {
        return entries_[block.index() % entries_.size()].descriptor;
    }

    /// True if it was not known. A block that there is no room for is ignored, and one before
    /// all that is needed.
    bool learn(BlockIndex block, const wire::Descriptor& descriptor);
    void forget(BlockIndex block);

    /// All blocks before `block` are held: their descriptors give way to later ones'.
    void advance(std::uint32_t block);
    /// Who asks for a block before it has room for the whole answer.
    [[nodiscard]] std::uint32_t horizon() const;

    /// The lowest block that is needed and unknown, or blocks(). Remembers how far it looked.
    [[nodiscard]] std::uint32_t first_unknown();
    /// The lowest unknown block in [from, below), or below.
    [[nodiscard]] std::uint32_t first_unknown(std::uint32_t from, std::uint32_t below) const;

    /// All known of `first` .. `first + count - 1` up to the first unknown, as a DESCRIBE's
    /// body; empty if the first is unknown.
    [[nodiscard]] std::vector<std::byte> describe(BlockIndex first, std::uint32_t count) const;

  private:
    struct Entry {
        BlockIndex block;
        wire::Descriptor descriptor;  ///< A length of 0: unknown.
    };

    [[nodiscard]] std::uint32_t end() const;

    std::uint32_t blocks_;
    std::vector<Entry> entries_;     ///< A block's is at block % room.
    std::uint32_t needed_from_ = 0;  ///< All before it are held.
    std::uint32_t known_below_ = 0;  ///< All before it are known, or were.
};

}  // namespace stage::core
