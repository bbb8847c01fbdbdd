#include "transport/core/source/parity_pass.h"

#include "transport/base/invariant.h"
#include "transport/core/sending/train.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace stage::core {

namespace {

/// The OFFER had the descriptors.
constexpr std::uint32_t kNever = ~0U;

}  // namespace

ParityPass::ParityPass(const CoreConfig& config,
                       const ObjectShape& shape,
                       const Limits& limits,
                       const DescriptorTable& descriptors,
                       BufferPool& pool)
    : chunk_bytes_{config.chunk_bytes},
      blocks_{shape.blocks},
      describe_every_{goes_with_offers(config, shape, limits.parity)
                          ? kNever
                          : limits.parity.describe_every},
      descriptors_{descriptors},
      pool_{pool},
      parities_{parities_for(config, shape, limits.parity)} {
}

void ParityPass::order_encode(OperationQueue& operations) {
    ParityCode code;
    code.chunk_bytes = chunk_bytes_;
    code.parities = parities_;
    for (std::uint32_t block = 0; block < blocks_; ++block) {
        code.wire_lengths.push_back(descriptors_.at(BlockIndex{block}).wire_length);
    }
    symbol_bytes_ = code.symbol_bytes();
    is_encoded_ = true;
    if (symbol_bytes_ == 0) {
        parities_ = 0;  // nothing but holes: the descriptors are all of it
        return;
    }
    const bool has_room = pool_.admit(BlockIndex{blocks_}, operations);
    invariant(has_room, "a small object leaves room for its parities");
    Operation encode;
    encode.kind = OperationKind::encode;
    encode.block = BlockIndex{blocks_};
    code_ = std::make_unique<const ParityCode>(std::move(code));
    encode.code = code_.get();
    operations.push_back(std::move(encode));
}

void ParityPass::fill(Instant now, SendBatch& batch, Pacer& pacer, Numbering& numbers) {
    bool has_sent = false;
    while (is_waiting()) {
        const std::uint32_t room =
            packets_allowed(batch, pacer.credit(now), symbol_bytes_ + kWireOverheadBytes);
        if (room == 0) {
            break;
        }
        // The first of them follow the chunks; the last one is the end, so nothing follows it.
        const std::uint32_t since = next_ - std::uint32_t{described_};
        if (describe_every_ == kNever) {
            send(std::min<std::uint32_t>(room, parities_ - next_), batch, pacer, numbers);
        } else if (since >= describe_every_ || (next_ + 1U == parities_ && since > 0)) {
            describe(batch, pacer, numbers);
        } else {
            const bool is_last = next_ + 1U == parities_;
            const std::uint32_t count =
                is_last ? 1 : std::min(describe_every_ - since, parities_ - 1U - next_);
            send(std::min(room, count), batch, pacer, numbers);
        }
        has_sent = true;
    }
    if (is_over() && pool_.contains(BlockIndex{blocks_}) && has_sent) {
        pool_.settle(BlockIndex{blocks_});
    }
}

void ParityPass::describe(SendBatch& batch, Pacer& pacer, Numbering& numbers) {
    Send send;
    send.type = wire::PacketType::describe;
    send.to.to_group = true;
    send.packet_number = numbers.take(1);
    send.body = descriptors_.describe(BlockIndex{0}, blocks_);
    pacer.charge(send.body.size() + kWireOverheadBytes);
    batch.sends.push_back(std::move(send));
    ++batch.packets;
    described_ = next_;
}

void ParityPass::send(std::uint32_t count, SendBatch& batch, Pacer& pacer, Numbering& numbers) {
    Send send;
    send.to.to_group = true;
    send.packet_number = numbers.take(count);
    send.block = BlockIndex{blocks_};
    send.first = ChunkIndex{next_};
    send.count = static_cast<std::uint16_t>(count);
    send.length = symbol_bytes_;
    pacer.charge(std::uint64_t{count} * (symbol_bytes_ + kWireOverheadBytes));
    batch.sends.push_back(std::move(send));
    batch.packets += count;
    next_ = static_cast<std::uint16_t>(next_ + count);
}

}  // namespace stage::core
