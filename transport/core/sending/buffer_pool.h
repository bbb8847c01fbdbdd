// Which blocks have a buffer?
//
// At most so many. A block is *in use* while chunks come, while it is verified and stored,
// while it is loaded; then it is *clean*: kept, so that peers can be answered from memory,
// until another needs its place. A pinned block stays: somebody's answer is still to be cut
// from it.
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
    /// So many blocks could be admitted now.
    [[nodiscard]] std::uint32_t room() const { return blocks_max_ - busy_; }
    [[nodiscard]] bool has_room() const { return room() > 0; }

    /// Gives the block a place, in use; a clean one gives way and its release is ordered. False
    /// if every place is taken. Requires that the block has none.
    [[nodiscard]] bool admit(BlockIndex block, OperationQueue& operations);
    /// The block's bytes are whole and on disk (or can be read again).
    void settle(BlockIndex block);
    /// Gives a clean block's place back to use (its bytes are being replaced), or takes it
    /// away.
    void release(BlockIndex block, OperationQueue& operations);

    void pin(BlockIndex block);
    void unpin(BlockIndex block);
    /// A clean block was useful: others give way first.
    void touch(BlockIndex block);

  private:
    struct Entry {
        bool is_clean = false;
        std::uint32_t pins = 0;
        std::uint64_t touched = 0;

        [[nodiscard]] bool may_go() const { return is_clean && pins == 0; }
    };

    [[nodiscard]] std::map<BlockIndex, Entry>::iterator evictable();
    template <class Change>
    void change(Entry& entry, Change how) {
        busy_ -= entry.may_go() ? 0U : 1U;
        how(entry);
        busy_ += entry.may_go() ? 0U : 1U;
    }

    std::uint32_t blocks_max_;
    std::uint32_t busy_ = 0;  ///< Entries that may not go.
    std::map<BlockIndex, Entry> entries_;
    std::uint64_t touches_ = 0;
};

}  // namespace stage::core
