// Sends the parities of a small object.
//
// They follow the last chunk at the pacer's rate, and the object's descriptors are repeated
// between them, so that a receiver that lost a few packets of either kind needs no repair
// request. Parities are sent as chunks of one more block, after the object's last.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/descriptor_table.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/object_shape.h"
#include "transport/core/sending/buffer_pool.h"
#include "transport/core/sending/control_queue.h"
#include "transport/core/sending/operation_queue.h"
#include "transport/core/sending/pacer.h"

#include <memory>

namespace stage::core {

class ParityPass {
  public:
    /// `descriptors` and `pool` must outlive this.
    ParityPass(const CoreConfig& config,
               const ObjectShape& shape,
               const Limits& limits,
               const DescriptorTable& descriptors,
               BufferPool& pool);

    /// Called once every block is loaded and still resident.
    void order_encode(OperationQueue& operations);
    [[nodiscard]] bool wants_encode() const { return parities_ > 0 && !is_encoded_; }

    /// Sends as far as tokens and batch allow.
    void fill(Instant now, SendBatch& batch, Pacer& pacer, Numbering& numbers);
    [[nodiscard]] bool is_waiting() const { return is_encoded_ && !is_over(); }
    [[nodiscard]] bool is_over() const { return next_ == parities_; }

  private:
    void describe(SendBatch& batch, Pacer& pacer, Numbering& numbers);
    void send(std::uint32_t count, SendBatch& batch, Pacer& pacer, Numbering& numbers);

    std::uint32_t chunk_bytes_;
    std::uint32_t blocks_;
    std::uint32_t describe_every_;
    const DescriptorTable& descriptors_;
    BufferPool& pool_;
    std::uint16_t parities_;
    std::uint16_t next_ = 0;
    std::uint16_t described_ = 0;  ///< Parities that a DESCRIBE followed.
    std::uint32_t symbol_bytes_ = 0;
    bool is_encoded_ = false;
    std::unique_ptr<const ParityCode> code_;  ///< The code of what was encoded.
};

}  // namespace stage::core
