#include "transport/core/source/first_pass.h"

#include "transport/base/invariant.h"
#include "transport/core/sending/train.h"

#include <algorithm>

namespace stage::core {
namespace {

/// A descriptor is repeated after this number of chunks: one packet in 256 costs nothing.
constexpr std::uint32_t kAnnounceEveryChunks = 256;

}  // namespace

FirstPass::FirstPass(const CoreConfig& config,
                     const ObjectShape& shape,
                     const Limits& limits,
                     const DescriptorTable& descriptors,
                     BufferPool& pool)
    : cut_{config.chunk_bytes},
      shape_{shape},
      packet_bytes_{config.chunk_bytes + kWireOverheadBytes},
      load_ahead_{std::clamp(config.resident_blocks / 2U, 1U, limits.load_ahead_max)},
      descriptors_{descriptors},
      pool_{pool},
      read_below_{shape.blocks},
      announced_below_{goes_with_offers(config, shape, limits.parity) ? shape.blocks : 0},
      since_announced_{announced_below_ > 0 ? 0 : kAnnounceEveryChunks},
      parities_{config, shape, limits, descriptors, pool} {
}

void FirstPass::order_loads(OperationQueue& operations, std::uint64_t& next_ticket) {
    while (may_load()) {
        const BlockIndex block{next_load_};
        if (!pool_.admit(block, operations)) {
            return;
        }
        Operation load;
        load.kind = OperationKind::load;
        load.ticket = Ticket{next_ticket++};
        load.block = block;
        operations.push_back(load);
        loaded_.push_back(false);
        ++next_load_;
    }
    if (has_loaded_all() && wants_encode()) {
        parities_.order_encode(operations);
    }
}

bool FirstPass::has_loaded(BlockIndex block) const {
    if (block.value() < cursor_.block) {
        return true;
    }
    const std::size_t ahead = block.value() - cursor_.block;
    return ahead < loaded_.size() && loaded_[ahead];
}

void FirstPass::on_loaded(BlockIndex block) {
    const std::size_t ahead = block.value() - cursor_.block;
    invariant(block.value() >= cursor_.block && ahead < loaded_.size() && !loaded_[ahead],
              "a block is read for the first pass once");
    loaded_[ahead] = true;
    ++loaded_count_;
    pass_over();
}

void FirstPass::skip(std::uint32_t sent_from, std::uint32_t read_from) {
    invariant(sent_from <= shape_.blocks, "what is left out is of the object");
    sent_from_ = sent_from;
    read_from_ = std::min(read_from, sent_from);
    pass_over();
}

void FirstPass::withhold(std::uint32_t read_from) {
    is_withheld_ = true;
    skip(shape_.blocks, read_from);
}

/// Leaves the blocks that are not to be sent: those that were read ahead, or for the source's
/// own sake, once they are read.
void FirstPass::pass_over() {
    while (cursor_.block < sent_from_) {
        if (cursor_.block == next_load_ && next_load_ < read_from_) {
            loaded_count_ += read_from_ - next_load_;
            next_load_ = read_from_;
            cursor_.block = read_from_;
        } else if (has_loaded_cursor()) {
            leave_block();
        } else {
            return;
        }
    }
}

void FirstPass::fill(Instant now,
                     std::uint32_t window_below,
                     SendBatch& batch,
                     Pacer& pacer,
                     Numbering& numbers) {
    while (!has_sent_all() && has_loaded_cursor() && cursor_.block < window_below) {
        std::uint32_t room = packets_allowed(batch, pacer.credit(now), packet_bytes_);
        if (room == 0) {
            return;
        }
        if (cursor_.chunk == 0 &&
            (announced_below_ <= cursor_.block || since_announced_ >= kAnnounceEveryChunks)) {
            announce(batch, pacer, numbers);
            continue;
        }
        const BlockIndex block{cursor_.block};
        const std::uint32_t chunks = cut_.chunks(descriptors_.at(block).wire_length);
        const std::uint32_t count = std::min(chunks - cursor_.chunk, room);
        if (count > 0) {
            Send send;
            send.to.to_group = true;
            send.packet_number = numbers.take(count);
            send.block = block;
            send.first = ChunkIndex{static_cast<std::uint16_t>(cursor_.chunk)};
            send.count = static_cast<std::uint16_t>(count);
            batch.sends.push_back(std::move(send));
            batch.packets += count;
            pacer.charge(std::uint64_t{count} * packet_bytes_);
        }
        cursor_.chunk += count;
        since_announced_ += count;
        if (cursor_.chunk == chunks) {
            leave_block();
        }
    }
    if (has_sent_all() && !is_withheld_) {
        parities_.fill(now, batch, pacer, numbers);
    }
}

void FirstPass::leave_block() {
    pool_.settle(BlockIndex{cursor_.block});
    loaded_.pop_front();
    ++cursor_.block;
    cursor_.chunk = 0;
}

void FirstPass::announce(SendBatch& batch, Pacer& pacer, Numbering& numbers) {
    std::uint32_t count = 0;
    while (count < loaded_.size() && loaded_[count]) {
        ++count;
    }
    Send send;
    send.type = wire::PacketType::describe;
    send.to.to_group = true;
    send.packet_number = numbers.take(1);
    // The first block was described once only, and nothing can be stored without it.
    const bool has_first = cursor_.block == 1 && descriptors_.knows(BlockIndex{0});
    const std::uint32_t again = has_first ? 1 : 0;
    send.body = descriptors_.describe(BlockIndex{cursor_.block - again}, count + again);
    if (representatives_) {
        wire::append(send.body, *representatives_);
    }
    pacer.charge(send.body.size() + kWireOverheadBytes);
    batch.sends.push_back(std::move(send));
    ++batch.packets;
    announced_below_ = cursor_.block + std::min<std::uint32_t>(count, wire::kMaxDescriptors);
    since_announced_ = 0;
}

}  // namespace stage::core
