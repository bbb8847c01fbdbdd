// Where do the bytes that a session receives go?
//
// To whoever implements this. Blocks come complete and verified, each once, in any order. The
// calls block on the disk; run makes all of them from its one disk thread.
#pragma once

#include "transport/base/checksum.h"
#include "transport/base/result.h"
#include "transport/base/units.h"

#include <cstdint>

namespace stage {

/// What became of a block.
enum class Placing : unsigned char {
    placed,     ///< Written; read_back() gives it.
    deferred,   ///< Its place is not known yet, and nothing was kept of it.
    discarded,  ///< Not wanted here (the destination is left as it is); read_back() has it not.
};

class BlockSink {
  public:
    BlockSink() = default;
    BlockSink(const BlockSink&) = delete;
    BlockSink& operator=(const BlockSink&) = delete;
    virtual ~BlockSink() = default;

    /// Takes one whole block. `bytes` is borrowed for the call, `leaf` is their digest.
    ///
    /// A deferred block stays the caller's, in the caller's bounded memory: it offers it again
    /// after any later write that answered `placed`, or drops it and asks a peer for it later.
    /// Block 0 is never deferred, nor are the next of those that say where the others go (a
    /// manifest, then a tree's index: few for most objects); once they are placed, none is.
    /// Placed and discarded blocks both count as held for completion.
    ///
    /// An error ends this node's part, and with it the group's: its sentence names file, cause
    /// and remedy.
    [[nodiscard]] virtual Result<Placing> write(BlockIndex block,
                                                Bytes bytes,
                                                const Digest128& leaf) = 0;

    /// Reads room.size() bytes of a placed block from `offset` on, to answer a peer. An error
    /// means "I don't have it" and is never the end of anything.
    [[nodiscard]] virtual Status read_back(BlockIndex block,
                                           std::uint32_t offset,
                                           MutableBytes room) = 0;

    /// Every block is held: sizes, modes and times are set and the files get their final names.
    /// Called once. Done means done: only after it returned without an error may this node say
    /// so to others. read_back() still works afterwards.
    [[nodiscard]] virtual Status finish() = 0;
};

}  // namespace stage
