#include "transport/run/object/block_store.h"

#include "transport/base/invariant.h"

#include <algorithm>
#include <cstring>

namespace stage {

BlockStore::BlockStore(std::uint32_t blocks, std::size_t block_bytes)
    : blocks_max_{blocks}, block_bytes_{block_bytes} {
    slots_.reserve(blocks);
}

MutableBytes BlockStore::acquire(BlockIndex block) {
    Slot& taken = slot(block);
    taken.is_shared = true;
    return {taken.buffer.get(), block_bytes_};
}

/// Its slot, or null. Most packets are of the same block as the one before.
BlockStore::Slot* BlockStore::find(BlockIndex block) {
    if (last_ == nullptr || last_block_ != block) {
        const auto found = slots_.find(block.value());
        last_ = found != slots_.end() ? &found->second : nullptr;
        last_block_ = block;
    }
    return last_;
}

/// The block's slot, made if it has none.
BlockStore::Slot& BlockStore::slot(BlockIndex block) {
    if (Slot* const found = find(block); found != nullptr) {
        return *found;
    }
    invariant(slots_.size() < blocks_max_, "a core keeps to its resident blocks");
    Buffer buffer;
    if (free_.empty()) {
        buffer = std::make_unique_for_overwrite<std::byte[]>(block_bytes_);
    } else {
        buffer = std::move(free_.back());
        free_.pop_back();
    }
    return slots_.emplace(block.value(), Slot{.buffer = std::move(buffer)}).first->second;
}

Bytes BlockStore::filled(BlockIndex block) const {
    const auto found = slots_.find(block.value());
    invariant(found != slots_.end(), "only resident blocks are sent");
    return {found->second.buffer.get(), found->second.extent};
}

std::uint32_t BlockStore::extent(BlockIndex block) const {
    const auto found = slots_.find(block.value());
    return found == slots_.end() ? 0 : found->second.extent;
}

void BlockStore::set_extent(BlockIndex block, std::uint32_t bytes) {
    const auto found = slots_.find(block.value());
    invariant(found != slots_.end() && bytes <= block_bytes_,
              "an extent is a resident block's");
    found->second.extent = std::max(found->second.extent, bytes);
}

bool BlockStore::place(BlockIndex block, std::size_t offset, Bytes chunk) {
    if (chunk.empty() || offset + chunk.size() > block_bytes_) {
        return false;
    }
    Slot& target = slot(block);
    std::byte* const there = target.buffer.get() + offset;
    if (there != chunk.data()) {
        std::memcpy(there, chunk.data(), chunk.size());
    }
    target.taken.set(offset / wire::kMinChunkBytes);
    target.extent = std::max(target.extent, static_cast<std::uint32_t>(offset + chunk.size()));
    return true;
}

MutableBytes BlockStore::opening_room(BlockIndex block, std::size_t offset, std::size_t bytes) {
    Slot* const found = find(block);
    const bool can = found != nullptr && !found->is_shared && bytes > 0 &&
                     offset + bytes <= block_bytes_ &&
                     !found->taken.test(offset / wire::kMinChunkBytes);
    return can ? MutableBytes{found->buffer.get() + offset, bytes} : MutableBytes{};
}

void BlockStore::keep_opened(BlockIndex block, std::size_t offset) {
    Slot* const found = find(block);
    invariant(found != nullptr, "what was opened lies in a resident block");
    found->taken.set(offset / wire::kMinChunkBytes);
}

bool BlockStore::is_resident(BlockIndex block) const {
    return slots_.contains(block.value());
}

void BlockStore::release(BlockIndex block) {
    const auto found = slots_.find(block.value());
    if (found != slots_.end()) {
        last_ = nullptr;
        free_.push_back(std::move(found->second.buffer));
        slots_.erase(found);
    }
}

}  // namespace stage
