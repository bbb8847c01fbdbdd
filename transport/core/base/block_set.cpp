#include "transport/core/base/block_set.h"

#include "transport/base/invariant.h"

#include <algorithm>
#include <bit>

namespace stage::core {

BlockSet::BlockSet(std::uint32_t blocks)
    : blocks_{blocks}, places_((std::size_t{blocks} + kPageBlocks - 1) / kPageBlocks) {
}

/// Blocks of a page: the last one may have fewer.
std::uint32_t BlockSet::size_of(std::size_t page) const {
    return std::min(kPageBlocks, blocks_ - static_cast<std::uint32_t>(page) * kPageBlocks);
}

bool BlockSet::has(BlockIndex block) const {
    if (block.value() >= blocks_) {
        return false;
    }
    const Place& place = places_[block.index() / kPageBlocks];
    if (!place.page) {
        return place.is_full;
    }
    const std::uint32_t bit = block.value() % kPageBlocks;
    return ((place.page->words[bit / 64] >> (bit % 64)) & 1U) != 0;
}

void BlockSet::add(BlockIndex block) {
    invariant(block.value() < blocks_ && !has(block), "a block is added once");
    const std::size_t index = block.index() / kPageBlocks;
    Place& place = places_[index];
    if (!place.page) {
        place.page = std::make_unique<Page>();
    }
    const std::uint32_t bit = block.value() % kPageBlocks;
    place.page->words[bit / 64] |= std::uint64_t{1} << (bit % 64);
    ++count_;
    if (++place.page->count == size_of(index)) {
        place.is_full = true;
        place.page.reset();
    }
}

std::uint32_t BlockSet::next_absent(std::uint32_t from, std::uint32_t below) const {
    below = std::min(below, blocks_);
    while (from < below) {
        const Place& place = places_[from / kPageBlocks];
        if (!place.page) {
            if (!place.is_full) {
                return from;
            }
            from = (from / kPageBlocks + 1) * kPageBlocks;
            continue;
        }
        const std::uint32_t bit = from % kPageBlocks;
        const std::uint64_t absent = ~place.page->words[bit / 64] >> (bit % 64);
        if (absent != 0) {
            from += static_cast<std::uint32_t>(std::countr_zero(absent));
            break;
        }
        from += 64 - bit % 64;
    }
    return std::min(from, below);
}

}  // namespace stage::core
