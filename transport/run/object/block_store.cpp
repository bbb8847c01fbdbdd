#include "transport/run/object/block_store.h"

#include "transport/base/invariant.h"

#include <algorithm>
#include <cstring>

namespace stage {

BlockStore::BlockStore(std::uint32_t blocks, std::size_t block_bytes, SpareBuffers* spare)
    : blocks_max_{blocks}, block_bytes_{block_bytes}, spare_{spare} {
    slots_.reserve(blocks);
}

BlockStore::BlockStore(MutableBytes object, std::uint32_t blocks) : BlockStore{blocks} {
    object_ = object;
}

MutableBytes BlockStore::acquire(BlockIndex block) {
    Slot& taken = slot(block);
    taken.is_shared = true;
    return {taken.buffer, taken.bytes};
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
    return slots_.emplace(block.value(), new_slot(block)).first->second;
}

BlockStore::Slot BlockStore::new_slot(BlockIndex block) {
    const std::size_t at = block.index() * block_bytes_;
    if (at < object_.size()) {
        const MutableBytes there =
            object_.subspan(at, std::min(block_bytes_, object_.size() - at));
        return {.buffer = there.data(), .bytes = there.size(), .is_of_object = true};
    }
    Slot slot = empty_slot();
    slot.bytes = block_bytes_;
    return slot;
}

BlockStore::Slot BlockStore::empty_slot() {
    const auto take = [](std::vector<std::byte*>& buffers) {
        std::byte* const buffer = buffers.back();
        buffers.pop_back();
        return buffer;
    };
    if (!free_.empty()) {
        return {.buffer = take(free_)};
    }
    if (memory_.size() >= blocks_max_) {
        invariant(spare_ != nullptr, "a core keeps to its resident blocks");
        if (!free_spare_.empty()) {
            return {.buffer = take(free_spare_), .is_spare = true};
        }
        if (std::byte* const spare = spare_->take(); spare != nullptr) {
            return {.buffer = spare, .is_spare = true};
        }
        sparing_ended_ = true;
    }
    memory_.push_back(std::make_unique_for_overwrite<std::byte[]>(block_bytes_));
    return {.buffer = memory_.back().get()};
}

Bytes BlockStore::filled(BlockIndex block) const {
    const auto found = slots_.find(block.value());
    invariant(found != slots_.end(), "only resident blocks are sent");
    return {found->second.buffer, found->second.extent};
}

std::uint32_t BlockStore::extent(BlockIndex block) const {
    const auto found = slots_.find(block.value());
    return found == slots_.end() ? 0 : found->second.extent;
}

void BlockStore::set_extent(BlockIndex block, std::uint32_t bytes) {
    const auto found = slots_.find(block.value());
    invariant(found != slots_.end() && bytes <= found->second.bytes,
              "an extent is a resident block's");
    found->second.extent = std::max(found->second.extent, bytes);
}

bool BlockStore::place(BlockIndex block, std::size_t offset, Bytes chunk) {
    if (chunk.empty() || offset + chunk.size() > block_bytes_) {
        return false;
    }
    Slot& target = slot(block);
    if (offset + chunk.size() > target.bytes) {
        return false;
    }
    std::byte* const there = target.buffer + offset;
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
                     offset + bytes <= found->bytes &&
                     !found->taken.test(offset / wire::kMinChunkBytes);
    return can ? MutableBytes{found->buffer + offset, bytes} : MutableBytes{};
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
        if (!found->second.is_of_object) {
            (found->second.is_spare ? free_spare_ : free_).push_back(found->second.buffer);
        }
        slots_.erase(found);
    }
}

}  // namespace stage
