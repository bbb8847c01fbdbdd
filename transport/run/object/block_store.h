// Holds the bytes of resident blocks.
//
// It has a fixed number of buffers of a block's size, taken and returned by block index. Memory
// is touched only when a block is. Beyond them it takes buffers from a spare store, if there is
// one. The core decides which blocks are resident; one buffer more than allowed is a bug of
// stagecast. Where the whole object lies in memory its blocks have their places there instead,
// and keep their bytes when they are released.
//
// A payload may be decrypted directly to its place, before the core has seen its header and
// before it is known not to be forged. That is allowed only where no byte counts yet: in a
// resident block whose buffer was used by place() alone, at a chunk that was not opened or
// placed there before.
#pragma once

#include "transport/base/units.h"
#include "transport/run/object/spare_buffers.h"
#include "transport/wire/packet.h"

#include <bitset>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace stage {

class BlockStore {
  public:
    /// At most `blocks` are resident in memory at a time, `block_bytes` each, and as many more
    /// as `spare` has; null: it has none. `spare` must outlive this.
    explicit BlockStore(std::uint32_t blocks,
                        std::size_t block_bytes = kBlockBytes,
                        SpareBuffers* spare = nullptr);
    /// The blocks of `object`, which must outlive this, are where they belong in it; at most
    /// `blocks` others are resident at a time.
    BlockStore(MutableBytes object, std::uint32_t blocks);

    /// The block's buffer. If it was not resident it becomes so, with arbitrary bytes for the
    /// caller to fill. No packet is opened there any more.
    [[nodiscard]] MutableBytes acquire(BlockIndex block);
    /// The filled part of the block's buffer, for sending. Requires that it is resident.
    [[nodiscard]] Bytes filled(BlockIndex block) const;
    /// How far the block's buffer is filled, bytes: to the end of the farthest chunk placed, or
    /// of what was loaded. The block's last chunk ends there.
    [[nodiscard]] std::uint32_t extent(BlockIndex block) const;
    void set_extent(BlockIndex block, std::uint32_t bytes);
    /// Copies a chunk to `offset` and makes the block resident; a chunk that was opened there
    /// is only counted. False, without copying, for an empty chunk or one that exceeds the
    /// buffer.
    [[nodiscard]] bool place(BlockIndex block, std::size_t offset, Bytes chunk);

    /// Where a chunk of `bytes` at `offset` may be opened; empty if it may not, and for no
    /// bytes: a forged empty chunk may begin where the block ends.
    [[nodiscard]] MutableBytes opening_room(BlockIndex block,
                                            std::size_t offset,
                                            std::size_t bytes);
    /// The chunk was opened there and is genuine: no other is opened there.
    void keep_opened(BlockIndex block, std::size_t offset);

    [[nodiscard]] bool is_resident(BlockIndex block) const;
    /// Returns the buffer. Ignores a block that is not resident.
    void release(BlockIndex block);

    [[nodiscard]] std::size_t resident() const { return slots_.size(); }
    /// True once after the spare store had no buffer. The blocks that needed one got memory.
    [[nodiscard]] bool take_sparing_ended() { return std::exchange(sparing_ended_, false); }

  private:
    struct Slot {
        std::byte* buffer = nullptr;
        std::size_t bytes = 0;  ///< The buffer's.
        bool is_spare = false;
        bool is_of_object = false;
        std::uint32_t extent = 0;
        bool is_shared = false;  ///< A caller was given the buffer.
        /// Chunks that are taken, in steps of the smallest chunk, so that no two chunks begin
        /// in one.
        std::bitset<kBlockBytes / wire::kMinChunkBytes> taken{};
    };

    [[nodiscard]] Slot* find(BlockIndex block);
    [[nodiscard]] Slot& slot(BlockIndex block);

    [[nodiscard]] Slot new_slot(BlockIndex block);
    [[nodiscard]] Slot empty_slot();

    std::uint32_t blocks_max_;
    MutableBytes object_;
    std::size_t block_bytes_;
    SpareBuffers* spare_;
    bool sparing_ended_ = false;
    std::vector<std::unique_ptr<std::byte[]>> memory_;
    std::vector<std::byte*> free_;
    std::vector<std::byte*> free_spare_;
    std::unordered_map<std::uint32_t, Slot> slots_;
    Slot* last_ = nullptr;  ///< The slot found last, and its block.
    BlockIndex last_block_;
};

}  // namespace stage
