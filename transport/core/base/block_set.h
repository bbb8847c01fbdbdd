// Which blocks does a member hold, however many there are?
//
// A bit each, in pages: one that is all held, or not begun, needs no bits. Blocks come nearly
// in order, so only a few pages are ever mixed, and two terabytes cost a few kilobytes; at the
// very worst it is one bit a block.
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
    /// False of a block beyond the object.
    [[nodiscard]] bool has(BlockIndex block) const;
    /// Requires a block of the object that is not there yet.
    void add(BlockIndex block);
    /// The lowest block in [from, below) that is not there, or below; below <= blocks().
    [[nodiscard]] std::uint32_t next_absent(std::uint32_t from, std::uint32_t below) const;

  private:
    static constexpr std::uint32_t kPageBlocks = 4096;
    struct Page {
        std::uint32_t count = 0;
        std::array<std::uint64_t, kPageBlocks / 64> words{};
    };
    struct Place {
        bool is_full = false;
        std::unique_ptr<Page> page;  ///< Null: nothing of it is there, or all.
    };

    [[nodiscard]] std::uint32_t size_of(std::size_t page) const;

    std::uint32_t blocks_;
    std::uint32_t count_ = 0;
    std::vector<Place> places_;
};

}  // namespace stage::core
