// Where do the bytes that a session sends come from?
//
// From whoever implements this: an object of blocks, 0 .. block_count() - 1, each of 1 to
// kBlockBytes bytes. What the blocks mean (a manifest, then files) is nobody's business here.
// The calls block on the disk; run makes all of them from its one disk thread.
#pragma once

#include "transport/base/checksum.h"
#include "transport/base/result.h"
#include "transport/base/units.h"

#include <cstdint>

namespace stage {

/// A block that was read.
struct SourceBlock {
    std::uint32_t length = 0;
    Digest128 leaf{};  ///< Of its bytes.
};

class BlockSource {
  public:
    BlockSource() = default;
    BlockSource(const BlockSource&) = delete;
    BlockSource& operator=(const BlockSource&) = delete;
    virtual ~BlockSource() = default;

    /// How many blocks the object has: at least 1, and the same for the whole session.
    [[nodiscard]] virtual std::uint32_t block_count() const = 0;

    /// How long block `block` is, 1 .. kBlockBytes, known before it is read.
    /// Requires block < block_count().
    [[nodiscard]] virtual std::uint32_t block_length(BlockIndex block) const = 0;

    /// Reads a block into the front of `room` and gives its length and digest. Requires block <
    /// block_count() and room.size() >= block_length(block).
    ///
    /// Every block is read in order once, then any of them again for repeats. A repeat gives
    /// the same bytes as the first read or an error, so the caller may forget them in between.
    /// An error is the end of the session for the whole group: its sentence names the file. A
    /// file that changed while it was read is found at the latest when its last block is read,
    /// which then fails: no receiver can have completed it.
    [[nodiscard]] virtual Result<SourceBlock> read(BlockIndex block, MutableBytes room) = 0;

    /// The sender's own part is done: called once, when every block has been read. What the
    /// source keeps on its own node (a destination written from the same reads) is under its
    /// final name when this returns. Repeats are still read afterwards.
    [[nodiscard]] virtual Status finish() = 0;
};

}  // namespace stage
