#include "transport/run/block_store.h"

#include "transport/base/invariant.h"

#include <algorithm>
#include <cstring>

namespace stage {

BlockStore::BlockStore(std::uint32_t blocks) : blocks_max_{blocks} {
    slots_.reserve(blocks);
}

MutableBytes BlockStore::acquire(BlockIndex block) {
    return {slot(block).buffer.get(), kBlockBytes};
}

/// The block's slot, made if it has none.
BlockStore::Slot& BlockStore::slot(BlockIndex block) {
    const auto found = slots_.find(block.value());
    if (found != slots_.end()) {
        return found->second;
    }
    invariant(slots_.size() < blocks_max_, "a core keeps to its resident blocks");
    Buffer buffer;
    if (free_.empty()) {
        buffer = std::make_unique_for_overwrite<std::byte[]>(kBlockBytes);
    } else {
        buffer = std::move(free_.back());
        free_.pop_back();
    }
    return slots_.emplace(block.value(), Slot{.buffer = std::move(buffer), .extent = 0})
        .first->second;
}

MutableBytes BlockStore::at(BlockIndex block) {
    const auto found = slots_.find(block.value());
    invariant(found != slots_.end(), "only resident blocks are worked on");
    return {found->second.buffer.get(), kBlockBytes};
}

std::uint32_t BlockStore::extent(BlockIndex block) const {
    const auto found = slots_.find(block.value());
    return found == slots_.end() ? 0 : found->second.extent;
}

void BlockStore::set_extent(BlockIndex block, std::uint32_t bytes) {
    const auto found = slots_.find(block.value());
    invariant(found != slots_.end() && bytes <= kBlockBytes, "an extent is a resident block's");
    found->second.extent = std::max(found->second.extent, bytes);
}

bool BlockStore::place(BlockIndex block, std::size_t offset, Bytes chunk) {
    if (offset + chunk.size() > kBlockBytes) {
        return false;
    }
    Slot& target = slot(block);
    std::memcpy(target.buffer.get() + offset, chunk.data(), chunk.size());
    target.extent = std::max(target.extent, static_cast<std::uint32_t>(offset + chunk.size()));
    return true;
}

bool BlockStore::is_resident(BlockIndex block) const {
    return slots_.contains(block.value());
}

void BlockStore::release(BlockIndex block) {
    const auto found = slots_.find(block.value());
    if (found != slots_.end()) {
        free_.push_back(std::move(found->second.buffer));
        slots_.erase(found);
    }
}

}  // namespace stage
