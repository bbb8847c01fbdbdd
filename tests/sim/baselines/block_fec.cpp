// Blocks of a Reed-Solomon code: 200 chunks and up to 55 parities, made at once, sent as asked
// for. When a block has passed, each receiver says how many it lacks; the source multicasts as
// many parities as the worst needs, beside the next blocks.
#include "tests/sim/baselines/baselines.h"
#include "tests/sim/baselines/node.h"
#include "transport/base/codec.h"
#include "transport/core/sending/train.h"

#include <list>

namespace stage::sim {
namespace {

constexpr std::uint16_t kParities = 55;
/// Repeated after this, with what has changed meanwhile.
constexpr Duration kAskEvery = microseconds{500};
/// A parity that was not heard of after this is lost.
constexpr Duration kUnderWay = microseconds{300};

core::ParityCode code_of(const Plan& plan, std::uint32_t block) {
    core::ParityCode code;
    code.first = BlockIndex{block};
    code.wire_lengths = {plan.block_bytes[block]};
    code.chunk_bytes = plan.chunk_bytes;
    code.parities = kParities;
    return code;
}

class Source final : public PassSource {
  public:
    Source(const Plan& plan, std::uint16_t rank)
        : PassSource{plan, rank},
          sent_(plan.block_bytes.size()),
          due_(sent_.size()),
          sent_at_(sent_.size(), core::kLongAgo) {}

  private:
    /// Block, parities heard of, chunks lacking.
    void on_control(Instant now, const core::Datagram& datagram) override {
        ByteReader in{datagram.body};
        const std::uint32_t block = in.u32();
        const std::uint32_t seen = in.u32();
        const std::uint32_t lacking = in.u32();
        // What was sent since may have come meanwhile; what was sent long ago is lost.
        const bool is_late = now > sent_at_[block] + kUnderWay;
        due_[block] = std::max(due_[block], (is_late ? sent_[block] : seen) + lacking);
        lowest_due_ = std::min(lowest_due_, block);
    }
    void work(Instant now) override {
        PassSource::work(now);
        for (; has_loaded() && encoded_ < sent_.size(); ++encoded_) {
            core::Operation encode;
            encode.kind = core::OperationKind::encode;
            encode.block = BlockIndex{static_cast<std::uint32_t>(sent_.size()) + encoded_};
            encode.code = &codes_.emplace_back(code_of(plan_, encoded_));
            operations_.push_back(encode);
        }
        while (lowest_due_ < sent_.size() && sent_[lowest_due_] >= due_[lowest_due_]) {
            ++lowest_due_;
        }
    }
    [[nodiscard]] bool wants_to_send() const override {
        return lowest_due_ < sent_.size() || PassSource::wants_to_send();
    }
    void fill(Instant now, core::SendBatch& batch) override {
        for (std::uint32_t block = lowest_due_; block < sent_.size(); ++block) {
            while (sent_[block] < due_[block]) {
                if (!send_parity(now, batch, block)) {
                    return;
                }
            }
        }
        PassSource::fill(now, batch);
    }
    bool send_parity(Instant now, core::SendBatch& batch, std::uint32_t block) {
        const std::uint32_t bytes = plan_.chunk_bytes + core::kWireOverheadBytes;
        if (core::packets_allowed(batch, pacer_.credit(now), bytes) == 0) {
            return false;
        }
        if (sent_[block] >= kParities) {
            // All parities are out: whole blocks are lost here, so the data goes again.
            const std::uint32_t size = first_of(block + 1) - first_of(block);
            sent_at_[block] = now;
            return Node::send(now,
                              batch,
                              group(),
                              first_of(block) + (sent_[block]++ - kParities) % size,
                              1) == 1;
        }
        core::Send send;
        send.to = group();
        send.packet_number = numbers_.take(1);
        send.block = BlockIndex{static_cast<std::uint32_t>(sent_.size()) + block};
        send.first = ChunkIndex{static_cast<std::uint16_t>(sent_[block] % kParities)};
        send.length = code_of(plan_, block).symbol_bytes();
        batch.sends.push_back(std::move(send));
        ++batch.packets;
        ++sent_[block];
        sent_at_[block] = now;
        pacer_.charge(bytes);
        return true;
    }

    std::vector<std::uint32_t> sent_;  ///< Parities, of each block,
    std::vector<std::uint32_t> due_;   ///< and asked for,
    std::vector<Instant> sent_at_;     ///< the last one when.
    std::uint32_t lowest_due_ = ~0U;
    std::uint32_t encoded_ = 0;
    std::list<core::ParityCode> codes_;  ///< What operations refer to.
};

class Receiver final : public Node {
  public:
    Receiver(const Plan& plan, std::uint16_t rank)
        : Node{plan, rank}, blocks_(plan.block_bytes.size()) {
        for (std::uint32_t block = 0; block < blocks_.size(); ++block) {
            blocks_[block].lacking = first_of(block + 1) - first_of(block);
        }
    }

  private:
    struct Block {
        std::uint32_t lacking = 0;  ///< Chunks and parities still to come.
        std::uint32_t seen = 0;     ///< Parities sent, as far as heard.
        core::ChunkSet parities{kParities};
        bool is_made = false;
        Instant ask_at = core::kLongAgo;
    };

    void on_chunk(Instant now, const core::Datagram& datagram, std::uint32_t chunk) override {
        Block& block = blocks_[datagram.header.block.index()];
        static_cast<void>(chunk);
        if (have_.count() == counted_) {
            return;  // it was here
        }
        counted_ = have_.count();
        block.lacking -= block.lacking > 0 ? 1U : 0U;
        make(datagram.header.block.value());
        pass(now, datagram.header.block.value());
    }
    void on_parity(Instant now, const core::Datagram& datagram) override {
        const auto index =
            static_cast<std::uint32_t>(datagram.header.block.value() - blocks_.size());
        Block& block = blocks_[index];
        const std::uint32_t parity = datagram.header.chunk.value();
        block.seen = std::max(block.seen, parity + 1);
        if (block.lacking == 0 || !block.parities.add(parity)) {
            return drop(datagram);
        }
        core::Operation place;
        place.kind = core::OperationKind::place;
        place.ticket = datagram.lease;
        place.block = datagram.header.block;
        place.chunk = datagram.header.chunk;
        operations_.push_back(place);
        --block.lacking;
        block.ask_at = now + kAskEvery;
        make(index);
    }
    /// Whatever belongs to a later block, or END, shows that the earlier ones have passed.
    void pass(Instant now, std::uint32_t below) {
        for (; passed_ < below; ++passed_) {
            blocks_[passed_].ask_at = now;
        }
    }
    void on_control(Instant now, const core::Datagram&) override {
        pass(now, static_cast<std::uint32_t>(blocks_.size()));
    }
    void make(std::uint32_t index) {
        Block& block = blocks_[index];
        if (block.lacking > 0 || block.is_made) {
            return;
        }
        block.is_made = true;
        if (have_.next_absent(first_of(index)) >= first_of(index + 1)) {
            return;
        }
        core::Operation reconstruct;
        reconstruct.kind = core::OperationKind::reconstruct;
        reconstruct.block = BlockIndex{static_cast<std::uint32_t>(blocks_.size()) + index};
        core::ParityCode code = code_of(plan_, index);
        for (std::uint32_t chunk = have_.next_absent(first_of(index));
             chunk < first_of(index + 1);
             chunk = have_.next_absent(chunk + 1)) {
            code.lost.push_back(static_cast<std::uint16_t>(chunk - first_of(index)));
        }
        for (std::uint32_t at = block.parities.next(0); code.with.size() < code.lost.size();
             at = block.parities.next(at + 1)) {
            code.with.push_back(static_cast<std::uint16_t>(at));
        }
        reconstruct.code = &codes_.emplace_back(std::move(code));
        operations_.push_back(reconstruct);
        on_reconstructed(index);
        counted_ = have_.count();
    }
    void work(Instant now) override {
        for (; first_lacking_ < passed_ && blocks_[first_lacking_].lacking == 0;
             ++first_lacking_) {
        }
        for (std::uint32_t index = first_lacking_; index < passed_; ++index) {
            Block& block = blocks_[index];
            if (block.lacking == 0 || now < block.ask_at) {
                continue;
            }
            block.ask_at = now + kAskEvery;
            control_.push_peer(
                wire::PacketType::report,
                Rank{plan_.source},
                ByteWriter{}.u32(index).u32(block.seen).u32(block.lacking).take());
        }
    }
    [[nodiscard]] std::optional<Instant> next() const override {
        std::optional<Instant> first;
        for (std::uint32_t index = first_lacking_; index < passed_; ++index) {
            if (blocks_[index].lacking > 0) {
                first = core::earlier(first, blocks_[index].ask_at);
            }
        }
        return first;
    }

    std::vector<Block> blocks_;
    std::list<core::ParityCode> codes_;  ///< What operations refer to.
    std::uint32_t counted_ = 0;          ///< Chunks that are here.
    std::uint32_t passed_ = 0;
    std::uint32_t first_lacking_ = 0;
};

}  // namespace

std::unique_ptr<core::Core> make_block_fec(const Plan& plan, std::uint16_t rank) {
    if (rank == plan.source) {
        return std::make_unique<Source>(plan, rank);
    }
    return std::make_unique<Receiver>(plan, rank);
}

}  // namespace stage::sim
