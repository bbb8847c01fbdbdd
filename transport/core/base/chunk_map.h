// Tracks which blocks and chunks of the object a member has.
//
// Two levels: one bit for every held block (block_set.h), and one bit for every chunk of the
// few open blocks, which are being received, verified or stored. A chunk of a block for which
// there is no room is dropped and requested later.
#pragma once

#include "transport/base/units.h"
#include "transport/core/base/block_set.h"
#include "transport/core/base/chunk_set.h"
#include "transport/core/base/object_shape.h"

#include <array>
#include <cstdint>
#include <vector>

namespace stage::core {

enum class OpenState : std::uint8_t { filling, verifying, storing };

struct OpenBlock {
    BlockIndex block;
    OpenState state = OpenState::filling;
    std::uint32_t chunks = 0;  ///< 0 while its descriptor is not known.
    ChunkSet have;             ///< Placed in the block's buffer.
    ChunkSet asked;            ///< Requested from a peer, not answered yet.
    /// How often the complete block had a wrong digest. Its chunks are given to no peer until
    /// the digest is right.
    std::uint32_t bad_digests = 0;

    // State of the repair requests for this block: see block_failures.h.
    std::uint8_t failures = 0;  ///< Requests in a row that gave nothing.
    std::uint8_t silences = 0;  ///< How many of the last failures were time-outs.
    /// Peers in a row, time-outs aside, that lacked the requested chunks.
    std::uint8_t refusals = 0;
    std::uint8_t busy = 0;  ///< Peers in a row that had no room to answer.
    Instant ask_after = kLongAgo;
    std::array<Rank, 4> lacking{};  ///< The last peers that answered LACKING.
    std::uint8_t lacking_count = 0;

    [[nodiscard]] bool is_complete() const { return chunks != 0 && have.count() == chunks; }
};

class ChunkMap {
  public:
    ChunkMap(std::uint32_t blocks, std::uint32_t chunks_max, std::size_t open_max);

    [[nodiscard]] std::uint32_t blocks() const { return held_.blocks(); }
    [[nodiscard]] std::uint32_t held() const { return held_.count(); }
    [[nodiscard]] bool is_held(BlockIndex block) const { return held_.has(block); }
    [[nodiscard]] bool holds_all() const { return held() == blocks(); }
    /// The lowest block that is not held, or blocks(). It never decreases.
    [[nodiscard]] std::uint32_t first_unheld() const { return first_unheld_; }

    /// The open block, or null. Valid until the next open() or close().
    [[nodiscard]] OpenBlock* find(BlockIndex block);
    [[nodiscard]] const OpenBlock* find(BlockIndex block) const;
    /// Opens a block that is neither open nor held. Null if too many are open.
    [[nodiscard]] OpenBlock* open(BlockIndex block);
    /// Closes an open block without holding it.
    void close(BlockIndex block);
    /// Marks a block that the member held before the broadcast. Requires one that is neither
    /// open nor held.
    void hold_before(BlockIndex block);
    /// Closes and holds an open block that has been stored.
    void hold(BlockIndex block);

    [[nodiscard]] std::size_t open_count() const { return order_.size(); }
    /// How many of them are being verified or stored.
    [[nodiscard]] std::ptrdiff_t count_at_disk() const;
    /// The open blocks by index: at(0) is the lowest. Requires index < open_count().
    [[nodiscard]] OpenBlock& at(std::size_t index) { return slots_[order_[index]]; }
    [[nodiscard]] const OpenBlock& at(std::size_t index) const { return slots_[order_[index]]; }

    /// The lowest block in [from, below) that is neither held nor open, or below.
    [[nodiscard]] std::uint32_t first_absent(std::uint32_t from, std::uint32_t below) const;
    /// True if a chunk of [from, below) is missing, or may be because its block's length is not
    /// known.
    [[nodiscard]] bool lacks(Position from, Position below) const;
    [[nodiscard]] bool lacks(Position below) const {
        return lacks({.block = first_unheld_, .chunk = 0}, below);
    }

  private:
    [[nodiscard]] std::size_t order_of(BlockIndex block) const;

    std::uint32_t chunks_max_;
    std::size_t open_max_;
    BlockSet held_;
    std::uint32_t first_unheld_ = 0;
    std::vector<OpenBlock> slots_;
    std::vector<std::uint32_t> order_;  ///< Slots in use, by block.
    std::vector<std::uint32_t> free_;
};

}  // namespace stage::core
