// Sends every chunk of the object to the group once.
//
// It goes block by block, reads a few blocks ahead, and sends each block's descriptor before
// its chunks and several times after. It keeps to the pacer's rate and to the send window. A
// hole has no chunks. Blocks that were sent stay in memory while there is room. A small
// object's parities follow (parity_pass.h).
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/descriptor_table.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/object_shape.h"
#include "transport/core/sending/buffer_pool.h"
#include "transport/core/sending/control_queue.h"
#include "transport/core/sending/operation_queue.h"
#include "transport/core/sending/pacer.h"
#include "transport/core/source/parity_pass.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

namespace stage::core {

class FirstPass {
  public:
    /// `descriptors` and `pool` must outlive this.
    FirstPass(const CoreConfig& config,
              const ObjectShape& shape,
              const Limits& limits,
              const DescriptorTable& descriptors,
              BufferPool& pool);

    /// From now on DESCRIBEs name these.
    void name(const wire::Representatives& representatives) {
        representatives_ = representatives;
    }
    void order_loads(OperationQueue& operations, std::uint64_t& next_ticket);
    /// True if order_loads() would queue a load.
    [[nodiscard]] bool wants_loads() const {
        return (may_load() && pool_.has_room()) || (has_loaded_all() && wants_encode());
    }
    /// The block `below` and those after it are not read until a later call.
    void read_below(std::uint32_t below) { read_below_ = std::min(below, shape_.blocks); }
    /// The next block to be read.
    [[nodiscard]] std::uint32_t next_load() const { return next_load_; }
    /// A block was read for the first time; its descriptor is in the table.
    void on_loaded(BlockIndex block);

    /// Sends as far as tokens, batch, loaded blocks and `window_below` (a block) allow.
    void fill(Instant now,
              std::uint32_t window_below,
              SendBatch& batch,
              Pacer& pacer,
              Numbering& numbers);

    /// Called before the first chunk is sent: blocks before `sent_from` need not be sent, and
    /// those before `read_from` need not be read either.
    void skip(std::uint32_t sent_from, std::uint32_t read_from);
    /// No member needs a packet, and the source itself needs no block before `read_from`.
    void withhold(std::uint32_t read_from);

    [[nodiscard]] bool is_withheld() const { return is_withheld_; }
    [[nodiscard]] bool has_loaded_all() const { return loaded_count_ == shape_.blocks; }
    [[nodiscard]] bool is_over() const {
        return has_sent_all() && (is_withheld_ || parities_.is_over());
    }
    /// Everything before it was sent or is not needed.
    [[nodiscard]] Position cursor() const { return cursor_; }
    /// True if the block has been read for the first time.
    [[nodiscard]] bool has_loaded(BlockIndex block) const;
    /// True if something could be sent with more tokens and window.
    [[nodiscard]] bool is_waiting() const {
        return !is_withheld_ && (has_sent_all() ? parities_.is_waiting() : has_loaded_cursor());
    }

  private:
    [[nodiscard]] bool has_sent_all() const { return cursor_.block == shape_.blocks; }
    /// Blocks that were read ahead and that no member needs are still being loaded. Nothing
    /// further is read until they are done.
    [[nodiscard]] bool is_leaving() const { return next_load_ < read_from_; }
    [[nodiscard]] bool may_load() const {
        return next_load_ < read_below_ && next_load_ - cursor_.block < load_ahead_ &&
               !is_leaving();
    }
    [[nodiscard]] bool has_loaded_cursor() const {
        return has_loaded(BlockIndex{cursor_.block});
    }
    [[nodiscard]] bool wants_encode() const {
        return !is_withheld_ && parities_.wants_encode();
    }
    void announce(SendBatch& batch, Pacer& pacer, Numbering& numbers);
    void leave_block();
    void pass_over();

    Cut cut_;
    std::optional<wire::Representatives> representatives_;
    ObjectShape shape_;
    std::uint32_t packet_bytes_;
    std::uint32_t load_ahead_;
    const DescriptorTable& descriptors_;
    BufferPool& pool_;
    std::uint32_t next_load_ = 0;
    std::uint32_t loaded_count_ = 0;
    std::uint32_t sent_from_ = 0;
    std::uint32_t read_from_ = 0;
    std::uint32_t read_below_;
    std::deque<bool> loaded_;  ///< From the cursor's block on.
    Position cursor_;
    std::uint32_t announced_below_;
    std::uint32_t since_announced_;  ///< Chunks.
    ParityPass parities_;
    bool is_withheld_ = false;
};

}  // namespace stage::core
