// What does a member have of the object?
//
// Two levels: a bit for every block that it holds (block_set.h), and chunk bits for the few
// blocks that are open: coming in, being verified, being stored. A block beyond that bound is
// simply not there yet, and is pulled later.
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
    std::uint32_t chunks = 0;  ///< 0 while its descriptor isn't known.
    ChunkSet have;             ///< Placed.
    ChunkSet asked;            ///< Asked of somebody, not answered yet.
    /// So often it was complete, and wrong: nobody is given of it before it is right.
    std::uint32_t bad_digests = 0;

    // How asking for it goes: see puller.h.
    std::uint8_t failures = 0;  ///< Requests in a row that gave nothing,
    std::uint8_t silences = 0;  ///< and of these the last ones that nobody answered.
    std::uint8_t refusals = 0;  ///< Peers in a row, silence apart, that lacked what was asked.
    Instant ask_after = kLongAgo;
    std::array<Rank, 4> lacking{};  ///< Who said last that they don't have it.
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
    /// The lowest block that isn't held, or blocks(). It never falls.
    [[nodiscard]] std::uint32_t first_unheld() const { return first_unheld_; }

    /// The open block, or null. Valid until the next open() or close().
    [[nodiscard]] OpenBlock* find(BlockIndex block);
    [[nodiscard]] const OpenBlock* find(BlockIndex block) const;
    /// Opens a block that is neither open nor held. Null if too many are open.
    [[nodiscard]] OpenBlock* open(BlockIndex block);
    /// The block is here no more.
    void close(BlockIndex block);
    /// The block was here before the broadcast. Requires one that is neither open nor held.
    void hold_before(BlockIndex block);
    /// The open block is on disk: closes and holds it.
    void hold(BlockIndex block);

    [[nodiscard]] std::size_t open_count() const { return order_.size(); }
    /// The open blocks by index: at(0) is the lowest. Requires index < open_count().
    [[nodiscard]] OpenBlock& at(std::size_t index) { return slots_[order_[index]]; }
    [[nodiscard]] const OpenBlock& at(std::size_t index) const { return slots_[order_[index]]; }

    /// The lowest block in [from, below) that is neither held nor open, or below.
    [[nodiscard]] std::uint32_t first_absent(std::uint32_t from, std::uint32_t below) const;
    /// Something of [from, below) isn't here, or may not be: its block's length isn't known.
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
