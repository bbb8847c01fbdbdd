// Stores which blocks a member holds, for an object of any number of blocks.
//
// One bit for each block, in pages. A page whose blocks are all held, or none of them, needs no
// bits. Blocks arrive nearly in order, so few pages are mixed and an object of 2 TB costs a few
// kilobytes. The worst case is one bit for each block.
#pragma once

#include "transport/base/units.h"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace stage::core {

class BlockSet {
  public:
    explicit BlockSet(std::uint32_t blocks);

    [[nodiscard]] std::uint32_t blocks() const { return blocks_; }
    [[nodiscard]] std::uint32_t count() const { return count_; }
    /// False for a block beyond the object.
    [[nodiscard]] bool has(BlockIndex block) const;
    /// Requires a block of the object that is not in the set.
    void add(BlockIndex block);
    /// The lowest block in [from, below) that is not in the set, or below. Requires below <=
    /// blocks().
    [[nodiscard]] std::uint32_t next_absent(std::uint32_t from, std::uint32_t below) const;

  private:
    static constexpr std::uint32_t kPageBlocks = 4096;
    struct Page {
        std::uint32_t count = 0;
        std::array<std::uint64_t, kPageBlocks / 64> words{};
    };
    struct Place {
        bool is_full = false;
        /// Null if no block of the page is in the set, or all are.
        std::unique_ptr<Page> page;
    };

    [[nodiscard]] std::uint32_t size_of(std::size_t page) const;

    std::uint32_t blocks_;
    std::uint32_t count_ = 0;
    std::vector<Place> places_;
};

}  // namespace stage::core
