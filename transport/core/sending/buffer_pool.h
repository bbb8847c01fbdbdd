// Manages the buffers of blocks: which blocks are resident.
//
// Their number is limited. A block is *in use* while its chunks arrive, while it is verified
// and stored, and while it is loaded. Then it is *clean*: it is kept, so that requests can be
// answered from memory, until another block needs the buffer. A pinned block stays, because an
// answer is still to be sent from it.
#pragma once

#include "transport/base/units.h"
#include "transport/core/base/contract.h"
#include "transport/core/sending/operation_queue.h"

#include <cstdint>
#include <map>

namespace stage::core {

class BufferPool {
  public:
    explicit BufferPool(std::uint32_t blocks_max) : blocks_max_{blocks_max} {}

    [[nodiscard]] bool contains(BlockIndex block) const { return entries_.contains(block); }
    [[nodiscard]] bool is_clean(BlockIndex block) const;
    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    /// The number of blocks that could be admitted now.
    [[nodiscard]] std::uint32_t room() const {
        return blocks_max_ - static_cast<std::uint32_t>(entries_.size() - evictable_.size());
    }
    [[nodiscard]] bool has_room() const { return room() > 0; }

    /// Gives the block a buffer, in use. If needed a clean block is evicted and its release
    /// queued. False if every buffer is in use. Requires that the block has none.
    [[nodiscard]] bool admit(BlockIndex block, OperationQueue& operations);
    /// The block is complete and on disk (or can be read again): it becomes clean.
    void settle(BlockIndex block);
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

    std::uint32_t blocks_max_;
    std::map<BlockIndex, Entry> entries_;
    /// Those of them that may be evicted, by when they were touched: the oldest first.
    std::map<std::uint64_t, BlockIndex> evictable_;
    std::uint64_t touches_ = 0;
};

}  // namespace stage::core
