#include "transport/core/base/chunk_map.h"

#include "transport/base/invariant.h"

#include <algorithm>
#include <utility>

namespace stage::core {

ChunkMap::ChunkMap(std::uint32_t blocks, std::uint32_t chunks_max, std::size_t open_max)
    : chunks_max_{chunks_max}, open_max_{open_max}, held_{blocks} {
    slots_.reserve(open_max);
    order_.reserve(open_max);
    free_.reserve(open_max);
}

/// Where the block stands, or would stand, in order_.
std::size_t ChunkMap::order_of(BlockIndex block) const {
    const auto at = std::ranges::lower_bound(
        order_, block, {}, [this](std::uint32_t slot) { return slots_[slot].block; });
    return static_cast<std::size_t>(at - order_.begin());
}

const OpenBlock* ChunkMap::find(BlockIndex block) const {
    const std::size_t at = order_of(block);
    if (at == order_.size() || slots_[order_[at]].block != block) {
        return nullptr;
    }
    return &slots_[order_[at]];
}

OpenBlock* ChunkMap::find(BlockIndex block) {
    const std::size_t at = order_of(block);
    if (at == order_.size() || slots_[order_[at]].block != block) {
        return nullptr;
    }
    return &slots_[order_[at]];
}

OpenBlock* ChunkMap::open(BlockIndex block) {
    invariant(block.value() < blocks() && !is_held(block) && find(block) == nullptr,
              "a block is opened once, and not after it is held");
    if (order_.size() >= open_max_) {
        return nullptr;
    }
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(slots_.size()));
        slots_.push_back(
            {.block = {}, .have = ChunkSet{chunks_max_}, .asked = ChunkSet{chunks_max_}});
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    OpenBlock& open = slots_[slot];
    open.have.clear();
    open.asked.clear();
    // Nothing else of the block that had the slot before is left.
    open = {.block = block, .have = std::move(open.have), .asked = std::move(open.asked)};
    const std::size_t at = order_of(block);
    order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(at), slot);
    return &open;
}

void ChunkMap::close(BlockIndex block) {
    const std::size_t at = order_of(block);
    invariant(at < order_.size() && slots_[order_[at]].block == block,
              "only an open block is closed");
    free_.push_back(order_[at]);
    order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(at));
}

void ChunkMap::hold(BlockIndex block) {
    close(block);
    hold_before(block);
}

void ChunkMap::hold_before(BlockIndex block) {
    held_.add(block);
    first_unheld_ = held_.next_absent(first_unheld_, blocks());
}

std::ptrdiff_t ChunkMap::count_at_disk() const {
    return std::ranges::count_if(order_, [this](std::uint32_t slot) {
        return slots_[slot].state != OpenState::filling;
    });
}

std::uint32_t ChunkMap::first_absent(std::uint32_t from, std::uint32_t below) const {
    below = std::min(below, blocks());
    while ((from = held_.next_absent(from, below)) < below) {
        if (find(BlockIndex{from}) == nullptr) {
            return from;
        }
        ++from;
    }
    return below;
}

bool ChunkMap::lacks(Position from, Position below) const {
    const std::uint32_t end = std::min(below.block + (below.chunk > 0 ? 1U : 0U), blocks());
    if (first_absent(from.block, end) < end) {
        return true;
    }
    return std::ranges::any_of(order_, [&](std::uint32_t slot) {
        const OpenBlock& open = slots_[slot];
        const std::uint32_t block = open.block.value();
        if (block < from.block || block >= end || open.state != OpenState::filling) {
            return false;
        }
        const std::uint32_t first = block == from.block ? from.chunk : 0;
        const std::uint32_t last =
            block == below.block ? std::min(below.chunk, open.chunks) : open.chunks;
        return open.chunks == 0 || open.have.next_absent(first) < last;
    });
}

}  // namespace stage::core
