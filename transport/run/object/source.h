// The interface from which a session reads the blocks that it sends.
//
// An object consists of blocks 0 .. block_count() - 1 of 1 to kBlockBytes bytes each. The
// session does not interpret the blocks (a manifest, then files). The calls block on the disk;
// run makes all of them from its one disk thread.
#pragma once

#include "transport/base/checksum.h"
#include "transport/base/result.h"
#include "transport/base/units.h"

#include <cstdint>

namespace stage {

/// A block that was read.
struct SourceBlock {
    std::uint32_t length = 0;
    Digest128 leaf{};  ///< The leaf of the block's bytes.
};

class BlockSource {
  public:
    BlockSource() = default;
    BlockSource(const BlockSource&) = delete;
    BlockSource& operator=(const BlockSource&) = delete;
    virtual ~BlockSource() = default;

    /// The number of the object's blocks: at least 1, and constant during a session.
    [[nodiscard]] virtual std::uint32_t block_count() const = 0;

    /// The sum of all blocks' lengths, constant during a session.
    [[nodiscard]] virtual std::uint64_t object_bytes() const = 0;

    /// False while the block is still to come from elsewhere (run/passage/passage.h). It is
    /// asked again a little later, and read once it is here. Blocks come in order: if one is
    /// here, so are all before it. Requires block < block_count().
    [[nodiscard]] virtual bool is_here(BlockIndex /*block*/) { return true; }

    /// Reads a block into the front of `room` and returns its length and digest. Requires block
    /// < block_count(), is_here(block) and room.size() >= kBlockBytes.
    ///
    /// Every block is read in order once, then any of them again for retransmissions. A later
    /// read returns the same bytes as the first or an error, so the caller may forget them in
    /// between. An error ends the session for the whole group; its message names the file. A
    /// change of a file while it is read is detected at the latest when its last block is read,
    /// which then fails, so no receiver can have completed it.
    [[nodiscard]] virtual Result<SourceBlock> read(BlockIndex block, MutableBytes room) = 0;

    /// The source's own part is done: called once, when every block has been read. When it
    /// returns, a copy on the source's own node (a destination written from the same reads) has
    /// its final name. Blocks may still be read afterwards.
    [[nodiscard]] virtual Status finish() = 0;
};

/// A source that knows how long a block is before it is read again.
class SizedSource : public BlockSource {
  public:
    /// Requires block < block_count() and is_here(block).
    [[nodiscard]] virtual std::uint32_t block_length(BlockIndex block) const = 0;
};

}  // namespace stage
