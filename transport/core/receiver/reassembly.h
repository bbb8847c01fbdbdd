// Reassembles blocks from the chunks that a receiver hears.
//
// A chunk is placed into its block's buffer once, or dropped. A complete block is verified,
// then stored, then held, and stays in memory while there is room, for peers. A block with a
// wrong digest starts again. A block for which there was no room is opened later: where the
// stream is faster than this member's link, all buffers soon hold blocks that lack chunks, and
// spare buffers take the others, unless the disk is what is late. The descriptor of a block
// that was held long ago is forgotten; reading the block back provides it again.
#pragma once

#include "transport/base/result.h"
#include "transport/core/base/chunk_map.h"
#include "transport/core/base/contract.h"
#include "transport/core/base/descriptor_table.h"
#include "transport/core/base/holdings.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/object_shape.h"
#include "transport/core/sending/buffer_pool.h"
#include "transport/core/sending/operation_queue.h"

#include <map>
#include <optional>
#include <vector>

namespace stage::core {

class Reassembly final : public Holdings {
  public:
    Reassembly(const CoreConfig& config, const Limits& limits);

    /// The object's shape is known: chunks count from now on. Called once.
    void begin(const ObjectShape& shape);
    [[nodiscard]] bool has_begun() const { return map_.has_value(); }
    /// The blocks that CoreConfig says are held. Called before any chunk arrives.
    void hold_before(const std::vector<BlockRun>& runs, std::uint64_t bytes);
    [[nodiscard]] bool was_held_before(BlockIndex block) const {
        return before_ && before_->has(block);
    }

    /// Queues `place` or `drop` for the datagram's lease. Returns the open block that got a new
    /// chunk, or null.
    [[nodiscard]] OpenBlock* on_data(const Datagram& datagram);
    /// Queues `drop`.
    void drop(const Datagram& datagram);
    /// A `place` had no spare buffer: from now on only the blocks that are open have one.
    void end_sparing();
    void on_describe(const wire::Describe& body);
    /// A verify or store completed. An error means that this member cannot go on.
    [[nodiscard]] Status on_done(const Completion& done);
    /// A load of a held block, for peers, completed or failed.
    void on_loaded(const Completion& done);

    /// Opens missing blocks before `settled` as far as there is room. True if any was opened.
    bool open_absent(Position settled, bool is_ended, bool is_swarm = false);
    /// Opens what is missing of the first `blocks` blocks, which are described. False if some
    /// could not be opened.
    bool open_all(std::uint32_t blocks);
    /// Opens a block that is neither open nor held, so that its chunks have room. Null if there
    /// is none.
    [[nodiscard]] OpenBlock* open(BlockIndex block);
    /// A chunk of an open block was reconstructed.
    void on_reconstructed(BlockIndex block, std::uint32_t chunk);
    /// Blocks closed since the last call: requests for their chunks can end.
    [[nodiscard]] std::vector<BlockIndex> take_closed();

    /// True until a chunk arrives.
    [[nodiscard]] bool is_untouched() const { return chunks_held_ == 0 && pool_.size() == 0; }

    // Requires has_begun():
    /// True if the first block that is not held is being verified or stored.
    [[nodiscard]] bool is_first_at_disk() const;
    /// True if the packets of one read of the socket may find no room, and the disk is about to
    /// make some.
    [[nodiscard]] bool is_crowded() const;
    [[nodiscard]] ChunkMap& map() { return *map_; }
    [[nodiscard]] const ChunkMap& map() const { return *map_; }
    [[nodiscard]] DescriptorTable& descriptors() { return *descriptors_; }

    [[nodiscard]] BufferPool& pool() { return pool_; }
    [[nodiscard]] OperationQueue& operations() { return operations_; }
    [[nodiscard]] std::uint64_t& next_ticket() { return next_ticket_; }
    [[nodiscard]] std::uint64_t bytes_held() const { return bytes_held_; }
    [[nodiscard]] std::uint64_t chunks_held() const { return chunks_held_; }
    /// Chunks placed, including those of blocks with a wrong digest; modulo 2^32.
    [[nodiscard]] std::uint32_t placed() const { return placed_; }

    [[nodiscard]] bool has(BlockIndex block, std::uint32_t chunk) const override;
    [[nodiscard]] bool can_load(BlockIndex block) const override;
    [[nodiscard]] bool is_absent(BlockIndex block) const override;
    [[nodiscard]] std::uint32_t chunks(BlockIndex block) const override;
    [[nodiscard]] std::vector<std::byte> describe(BlockIndex block,
                                                  std::uint32_t count) const override;

  private:
    [[nodiscard]] OpenBlock* accept(const Datagram& datagram);
    [[nodiscard]] bool fits(const Datagram& datagram) const;
    [[nodiscard]] bool may_open(BlockIndex block) const;
    [[nodiscard]] const wire::Descriptor* descriptor_of(BlockIndex block) const;
    void on_learnt(BlockIndex block);
    bool open_whole(BlockIndex block);
    void describe_open(OpenBlock& open);
    void advance(OpenBlock& open);
    void order(OperationKind kind, BlockIndex block);
    void start_again(BlockIndex block);
    [[nodiscard]] Status on_verified(const Completion& done);
    [[nodiscard]] Status on_stored(const Completion& done);

    CoreConfig config_;
    std::uint32_t open_max_;  ///< Blocks open at a time.
    std::uint32_t bad_digests_max_;
    std::uint32_t descriptors_max_;
    Cut cut_;
    BufferPool pool_;
    std::optional<ChunkMap> map_;
    /// Blocks held before the broadcast; empty if there are none.
    std::optional<BlockSet> before_;
    std::optional<DescriptorTable> descriptors_;
    /// Descriptors of resident blocks that were read back, if the table has forgotten them.
    std::map<BlockIndex, wire::Descriptor> loaded_;
    OperationQueue operations_;
    std::vector<BlockIndex> closed_;
    std::map<BlockIndex, std::uint32_t> bad_digests_;
    std::uint32_t absent_from_ = 0;  ///< No absent block lies before it.
    std::uint64_t next_ticket_ = 1;
    std::uint64_t bytes_held_ = 0;
    std::uint64_t chunks_held_ = 0;
    std::uint32_t placed_ = 0;
};

}  // namespace stage::core
