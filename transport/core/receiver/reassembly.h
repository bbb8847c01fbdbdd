// What becomes of the chunks that a member hears?
//
// Each is placed once into its block's buffer or dropped; a complete block is verified, then
// stored, then held, and stays in memory while there is room, for peers. A block that proves
// bad starts again. Blocks that could not be opened when their chunks came are opened later. Of
// a block held long ago the descriptor is forgotten: who reads it back says it again.
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

    /// The object's shape is known: chunks count from now on. Once.
    void begin(const ObjectShape& shape);
    [[nodiscard]] bool has_begun() const { return map_.has_value(); }
    /// What CoreConfig says of it: before any chunk.
    void hold_before(const std::vector<BlockRun>& runs, std::uint64_t bytes);
    [[nodiscard]] bool was_held_before(BlockIndex block) const {
        return before_ && before_->has(block);
    }

    /// Orders place or drop for the datagram's lease. The open block that got a new chunk, or
    /// null.
    [[nodiscard]] OpenBlock* on_data(const Datagram& datagram);
    /// Orders drop.
    void drop(const Datagram& datagram);
    void on_describe(const wire::Describe& body);
    /// A verify or store ended. Fails if this member can't go on.
    [[nodiscard]] Status on_done(const Completion& done);
    /// A block that is held was read back for peers, or can't be.
    void on_loaded(const Completion& done);

    /// Opens blocks before `settled` that are not there at all, as far as there is room. True
    /// if any was.
    bool open_absent(Position settled, bool is_ended, bool is_swarm = false);
    /// Opens what is not there of the first `blocks` blocks, which are described. False if not
    /// all could be.
    bool open_all(std::uint32_t blocks);
    /// A chunk of an open block is there, though it never came.
    void on_reconstructed(BlockIndex block, std::uint32_t chunk);
    /// Blocks closed since the last call: nobody should wait for their chunks.
    [[nodiscard]] std::vector<BlockIndex> take_closed();

    /// No chunk has come yet.
    [[nodiscard]] bool is_untouched() const {
        return chunks_held_ == 0 && residence_.size() == 0;
    }

    // Requires has_begun():
    /// The first block that isn't held is being verified or stored.
    [[nodiscard]] bool is_first_at_disk() const;
    /// What a socket gives at once may find no room, and the disk is about to make some.
    [[nodiscard]] bool is_crowded() const;
    [[nodiscard]] ChunkMap& map() { return *map_; }
    [[nodiscard]] const ChunkMap& map() const { return *map_; }
    [[nodiscard]] DescriptorTable& descriptors() { return *descriptors_; }

    [[nodiscard]] BufferPool& residence() { return residence_; }
    [[nodiscard]] OperationQueue& operations() { return operations_; }
    [[nodiscard]] std::uint64_t& next_ticket() { return next_ticket_; }
    [[nodiscard]] std::uint64_t bytes_held() const { return bytes_held_; }
    [[nodiscard]] std::uint64_t chunks_held() const { return chunks_held_; }
    /// Chunks that came to their places, those of blocks included that were bad; modulo 2^32.
    [[nodiscard]] std::uint32_t placed() const { return placed_; }

    [[nodiscard]] bool has(BlockIndex block, std::uint32_t chunk) const override;
    [[nodiscard]] bool can_load(BlockIndex block) const override;
    [[nodiscard]] std::uint32_t chunks(BlockIndex block) const override;
    [[nodiscard]] std::vector<std::byte> describe(BlockIndex block,
                                                  std::uint32_t count) const override;

  private:
    [[nodiscard]] OpenBlock* accept(const Datagram& datagram);
    [[nodiscard]] bool fits(const Datagram& datagram) const;
    [[nodiscard]] OpenBlock* open(BlockIndex block);
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
    std::uint32_t bad_digests_max_;
    std::uint32_t descriptors_max_;
    Cut cut_;
    BufferPool residence_;
    std::optional<ChunkMap> map_;
    std::optional<BlockSet> before_;  ///< Held before it began; nothing where none is.
    std::optional<DescriptorTable> descriptors_;
    /// Of resident blocks that were read back, where the table has forgotten them.
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
