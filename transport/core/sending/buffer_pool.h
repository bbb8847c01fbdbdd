// Manages the buffers of blocks: which blocks are resident.
//
// Their number is limited. A block is *in use* while its chunks arrive, while it is verified
// and stored, and while it is loaded. Then it is *clean*: it is kept, so that requests can be
// answered from memory, until another block needs the buffer. A pinned block stays, because an
// answer is still to be sent from it. Spare buffers, if there are any, are for blocks in use.
#pragma once

#include "transport/base/units.h"
#include "transport/core/base/contract.h"
#include "transport/core/sending/operation_queue.h"

#include <algorithm>
#include <cstdint>
#include <map>

namespace stage::core {

class BufferPool {
  public:
    explicit BufferPool(std::uint32_t blocks_max, std::uint32_t spare_blocks = 0)
        : blocks_max_{blocks_max}, spare_blocks_{spare_blocks} {}

    [[nodiscard]] bool contains(BlockIndex block) const { return entries_.contains(block); }
    [[nodiscard]] bool is_clean(BlockIndex block) const;
    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    /// The number of blocks that could be admitted now without a spare buffer.
    [[nodiscard]] std::uint32_t room() const {
        return blocks_max_ - std::min(blocks_max_, in_use());
    }
    [[nodiscard]] bool has_room() const { return in_use() < blocks_max_ + spare_blocks_; }
    [[nodiscard]] bool has_spare() const { return spare_blocks_ > 0 && has_room(); }
    /// There are no spare buffers any more but those in use.
    void end_sparing() { spare_blocks_ = in_use() - std::min(blocks_max_, in_use()); }

    /// Gives the block a buffer, in use. If needed a clean block is evicted and its release
    /// queued. False if every buffer is in use. Requires that the block has none.
    [[nodiscard]] bool admit(BlockIndex block, OperationQueue& operations);
    /// The block is complete and on disk (or can be read again): it becomes clean.
    void settle(BlockIndex block);
    /// Frees the buffers of clean blocks for which only spare ones are left.
    void trim(OperationQueue& operations) { evict_until(blocks_max_, operations); }
    /// Frees the block's buffer and queues its release.
    void release(BlockIndex block, OperationQueue& operations);

    void pin(BlockIndex block);
    void unpin(BlockIndex block);
    /// A clean block was used: others are evicted first.
    void touch(BlockIndex block);

  private:
    struct Entry {
        bool is_clean = false;
        std::uint32_t pins = 0;
        std::uint64_t touched = 0;

        [[nodiscard]] bool may_go() const { return is_clean && pins == 0; }
    };

    template <class Change>
    void change(std::map<BlockIndex, Entry>::iterator at, Change how);
    void forget(std::map<BlockIndex, Entry>::iterator at);
    void evict_until(std::size_t blocks, OperationQueue& operations);
    [[nodiscard]] std::uint32_t in_use() const {
        return static_cast<std::uint32_t>(entries_.size() - evictable_.size());
    }

    std::uint32_t blocks_max_;
    std::uint32_t spare_blocks_;
    std::map<BlockIndex, Entry> entries_;
    /// The entries that may be evicted, by when they were touched: the oldest first.
    std::map<std::uint64_t, BlockIndex> evictable_;
    std::uint64_t touches_ = 0;
};

}  // namespace stage::core
