// The interface to which a session delivers received blocks.
//
// Blocks arrive complete and verified, each once, in any order. The calls block on the disk;
// run makes all of them from its one disk thread.
#pragma once

#include "transport/base/checksum.h"
#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/core/base/contract.h"
#include "transport/core/base/object_shape.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace stage {

/// What became of a block.
enum class Placing : unsigned char {
    placed,    ///< Written; read_back() can return it.
    deferred,  ///< The block's place is not known yet; nothing of it was kept.
    /// Not wanted here (the destination is left as it is); read_back() cannot return it.
    discarded,
};

class BlockSink {
  public:
    BlockSink() = default;
    BlockSink(const BlockSink&) = delete;
    BlockSink& operator=(const BlockSink&) = delete;
    virtual ~BlockSink() = default;

    /// What it is to take, where that is known before the source offers it.
    [[nodiscard]] virtual std::optional<core::ObjectShape> announced() const {
        return std::nullopt;
    }

    /// Blocks that an earlier session has placed. They need not be sent; one that is sent all
    /// the same is written once more.
    struct Held {
        std::vector<core::BlockRun> runs;  ///< Ascending, apart.
        std::uint64_t bytes = 0;
    };
    [[nodiscard]] virtual Held held_before() const { return {}; }

    /// Takes one whole block. `bytes` is borrowed for the call, `leaf` is their digest.
    ///
    /// A deferred block stays in the caller's bounded memory. The caller offers it again after
    /// any later write that answered `placed`, or drops it and requests it from a peer later.
    /// Block 0 is never deferred. The next blocks say where the others go (a manifest, then a
    /// tree's index: few for most objects), and wait for the blocks before them only. Once they
    /// are placed, none is deferred. Placed and discarded blocks both count as held.
    ///
    /// An error ends this node's part and with it the broadcast. Its message names file, cause
    /// and remedy.
    [[nodiscard]] virtual Result<Placing> write(BlockIndex block,
                                                Bytes bytes,
                                                const Digest128& leaf) = 0;

    /// Reads room.size() bytes of a placed block from `offset` on, to answer a peer. An error
    /// means that this member lacks the block, and ends nothing.
    [[nodiscard]] virtual Status read_back(BlockIndex block,
                                           std::uint32_t offset,
                                           MutableBytes room) = 0;

    /// False while something that finish() would report is not decided yet
    /// (run/passage/passage.h). It is asked again a little later.
    [[nodiscard]] virtual bool may_finish() { return true; }

    /// Every block is held: sets sizes, modes and times, and gives the files their final names.
    /// Only after it returned without an error may this node report DONE; called again, by a
    /// second session for the same object, it does nothing. read_back() still works afterwards.
    [[nodiscard]] virtual Status finish() = 0;
};

}  // namespace stage
