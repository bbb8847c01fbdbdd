// Where do the bytes of resident blocks live?
//
// In a fixed number of 1 MiB buffers, taken and given back by block index. Memory is touched
// only when a block is. The core decides who is resident; a buffer more than it is allowed is
// our bug.
//
// A payload may be decrypted right where it belongs, before the core has said a word of it, so
// before it is known not to be forged. Therefore only where no byte counts yet: in a block that
// is resident, that nobody but place() ever had, and at a chunk that was not opened or placed
// there before.
#pragma once

#include "transport/base/units.h"
#include "transport/wire/packet.h"

#include <bitset>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace stage {

class BlockStore {
  public:
    /// At most `blocks` resident at a time, 1 MiB each.
    explicit BlockStore(std::uint32_t blocks);

    /// The block's buffer, made resident if it isn't: then with whatever bytes, for the caller
    /// to fill. Nothing is opened there any more.
    [[nodiscard]] MutableBytes acquire(BlockIndex block);
    /// What is filled of the block's buffer, to be sent. Requires that it is resident.
    [[nodiscard]] Bytes filled(BlockIndex block) const;
    /// How far the block's buffer is filled: to the end of the farthest chunk placed or of what
    /// was loaded, bytes. The last chunk of a block ends there.
    [[nodiscard]] std::uint32_t extent(BlockIndex block) const;
    void set_extent(BlockIndex block, std::uint32_t bytes);
    /// Copies a chunk to `offset`, making the block resident; one that was opened there only
    /// counts. What lies beyond the block's buffer is not copied, nor is nothing at all: false.
    [[nodiscard]] bool place(BlockIndex block, std::size_t offset, Bytes chunk);

    /// Where a chunk of `bytes` at `offset` may be opened; empty if nowhere, and for no bytes:
    /// a forged chunk of none may begin where the block ends.
    [[nodiscard]] MutableBytes opening_room(BlockIndex block,
                                            std::size_t offset,
                                            std::size_t bytes);
    /// It was, and is good: nothing else is opened there.
    void keep_opened(BlockIndex block, std::size_t offset);

    [[nodiscard]] bool is_resident(BlockIndex block) const;
    /// Gives the buffer back; a block that isn't resident is left alone.
    void release(BlockIndex block);

    [[nodiscard]] std::size_t resident() const { return slots_.size(); }

  private:
    using Buffer = std::unique_ptr<std::byte[]>;
    struct Slot {
        Buffer buffer;
        std::uint32_t extent = 0;
        bool is_shared = false;  ///< Somebody was given the buffer.
        /// By the least chunk's steps, in which each chunk begins in another one: taken.
        std::bitset<kBlockBytes / wire::kMinChunkBytes> taken{};
    };

    [[nodiscard]] Slot* find(BlockIndex block);
    [[nodiscard]] Slot& slot(BlockIndex block);

    std::uint32_t blocks_max_;
    std::vector<Buffer> free_;
    std::unordered_map<std::uint32_t, Slot> slots_;
    Slot* last_ = nullptr;  ///< Of these, looked for last, and whose it is.
    BlockIndex last_block_;
};

}  // namespace stage
