// Knows what a relay's source has read of the object and what it can give.
//
// Every block is read in order once, a few blocks ahead of what the children request, and any
// of them again if a child requests it after its buffer was needed for another. A block that
// is read again must equal what was read first.
#pragma once

#include "transport/base/result.h"
#include "transport/core/base/contract.h"
#include "transport/core/base/holdings.h"
#include "transport/core/base/object_shape.h"
#include "transport/core/relay/relay_limits.h"
#include "transport/core/sending/buffer_pool.h"
#include "transport/core/sending/operation_queue.h"
#include "transport/core/sending/source_descriptors.h"

namespace stage::core {

class RelayStock final : public Holdings {
  public:
    RelayStock(const CoreConfig& config, const ObjectShape& shape, const RelayLimits& limits);

    [[nodiscard]] BufferPool& pool() { return pool_; }
    /// Queues first reads of blocks before `below`.
    void order_loads(std::uint32_t below,
                     OperationQueue& operations,
                     std::uint64_t& next_ticket);
    /// True if order_loads() would queue a load.
    [[nodiscard]] bool wants_loads(std::uint32_t below) const;
    /// A load ended well: the bytes of a block that was read for the first time, 0 for one that
    /// was read back, or the error (Blame::user) that the file has changed meanwhile.
    [[nodiscard]] Result<std::uint64_t> on_loaded(const Completion& done);
    [[nodiscard]] bool was_read(BlockIndex block) const { return descriptors_.was_read(block); }
    [[nodiscard]] bool has_read_all() const { return read_ == blocks_; }

    // Holdings:
    [[nodiscard]] bool has(BlockIndex block, std::uint32_t chunk) const override;
    [[nodiscard]] bool can_load(BlockIndex block) const override;
    [[nodiscard]] bool is_absent(BlockIndex block) const override;
    [[nodiscard]] std::uint32_t chunks(BlockIndex block) const override;
    [[nodiscard]] std::vector<std::byte> describe(BlockIndex block,
                                                  std::uint32_t count) const override;

  private:
    Cut cut_;
    std::uint32_t blocks_;
    std::uint32_t next_read_ = 0;
    std::uint32_t read_ = 0;  ///< Blocks that were read at least once.
    BufferPool pool_;
    SourceDescriptors descriptors_;
};

}  // namespace stage::core
