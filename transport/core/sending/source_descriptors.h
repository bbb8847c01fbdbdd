// Keeps the descriptors of the blocks that a source has read.
//
// Of a large object only those that were read last are kept, and of every other block a mark of
// 8 bytes, by which a block that is read again is recognised. While such a block is in memory
// its descriptor is known, too.
#pragma once

#include "transport/core/base/descriptor_table.h"
#include "transport/core/sending/buffer_pool.h"

#include <cstdint>
#include <map>
#include <vector>

namespace stage::core {

class SourceDescriptors {
  public:
    /// `room`: for descriptors, of the blocks that were read last; at least as many as are read
    /// ahead of the first pass. `pool` has the resident blocks and must outlive this.
    SourceDescriptors(std::uint32_t blocks, std::uint32_t room, const BufferPool& pool);

    [[nodiscard]] bool was_read(BlockIndex block) const {
        return marks_.empty() ? recent_.knows(block)
                              : block.index() < marks_.size() && marks_[block.index()] != 0;
    }
    /// A resident block was read. False if it was different the last time.
    [[nodiscard]] bool on_read(BlockIndex block, const wire::Descriptor& as);
    /// Null if the block was not read, or has to be read again.
    [[nodiscard]] const wire::Descriptor* find(BlockIndex block) const;
    /// Does what DescriptorTable::describe() does.
    [[nodiscard]] std::vector<std::byte> describe(BlockIndex first, std::uint32_t count) const;
    /// All descriptors of an object of at most `room` blocks, and those read last of another.
    [[nodiscard]] const DescriptorTable& recent() const { return recent_; }

  private:
    void learn(BlockIndex block, const wire::Descriptor& as);
    /// For the descriptor of a block before `end`.
    void make_room(std::uint32_t end);

    std::uint32_t room_;
    const BufferPool& pool_;
    std::uint32_t newest_end_ = 0;  ///< All blocks that were read lie before it.
    DescriptorTable recent_;
    std::vector<std::uint64_t> marks_;  ///< By block, 0: not read. Empty if recent_ has all.
    std::map<BlockIndex, wire::Descriptor> again_;  ///< The descriptors of resident blocks.
};

}  // namespace stage::core
