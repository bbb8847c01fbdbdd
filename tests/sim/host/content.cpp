#include "tests/sim/host/content.h"

#include "transport/core/base/limits.h"

#include <algorithm>
#include <utility>

namespace stage::sim {

Content::Content(
    const Plan& plan, std::uint16_t rank, const Object& object, Prng& prng, Complain complain)
    : plan_{plan},
      own_{plan.member[rank]},
      object_{object},
      is_source_{rank == plan.source},
      prng_{prng},
      complain_{std::move(complain)},
      stored_(plan.block_bytes.size()),
      before_(plan.block_bytes.size()),
      may_be_coded_{plan.block_bytes.size() <= core::ParityLimits{}.coded_blocks_max} {
    if (is_source_) {
        io_ = std::make_unique<SourceIo>(static_cast<BlockSource&>(*this));
    } else {
        io_ = std::make_unique<SinkIo>(static_cast<BlockSink&>(*this));
    }
    if (own_.holds_already) {
        hold_before(
            {.first = BlockIndex{0}, .count = static_cast<std::uint32_t>(stored_.size())});
        return;
    }
    std::ranges::for_each(own_.held_before,
                          [this](const core::BlockRun& run) { hold_before(run); });
}

void Content::hold_before(const core::BlockRun& run) {
    const auto first = static_cast<std::ptrdiff_t>(run.first.index());
    std::fill_n(before_.begin() + first, run.count, std::uint8_t{1});
    if (!is_source_) {
        std::fill_n(stored_.begin() + first, run.count, std::uint8_t{1});
        blocks_stored_ += run.count;
    }
}

Performed Content::perform(const core::Operation& operation, MutableBytes buffer) {
    Performed bad{.completion = {.ticket = operation.ticket,
                                 .kind = operation.kind,
                                 .block = operation.block,
                                 .verdict = core::Verdict::bad_digest,
                                 .descriptor = {}}};
    if (operation.kind == core::OperationKind::load) {
        ++loads_;
        if (!is_source_ && before_[operation.block.index()] != 0 && !may_be_coded_) {
            complain_("a block was read back that it can't know how to send");
        }
    }
    if (operation.kind == core::OperationKind::verify) {
        flip(operation.block, buffer);
        if (operation.descriptor.length != object_.held_bytes(operation.block.value())) {
            return bad;  // Its source sent another's.
        }
    }
    if (operation.kind == core::OperationKind::store && own_.short_write_ppm > 0 &&
        prng_.chance_ppm(own_.short_write_ppm)) {
        return bad;
    }
    return io_->perform(operation, buffer);
}

/// Makes some chunk of what is in memory by now wrong there.
void Content::flip(BlockIndex block, MutableBytes buffer) {
    const std::size_t each = object_.held_chunk_bytes();
    const std::size_t end = object_.held_bytes(block.value());
    for (std::size_t at = 0; own_.memory_flip_ppm > 0 && at < end; at += each) {
        if (prng_.chance_ppm(own_.memory_flip_ppm)) {
            buffer[at] ^= std::byte{0x10};
        }
    }
}

std::uint32_t Content::block_count() const {
    return static_cast<std::uint32_t>(plan_.block_bytes.size());
}

std::uint32_t Content::block_length(BlockIndex block) const {
    return object_.held_bytes(block.value());
}

Result<SourceBlock> Content::read(BlockIndex block, MutableBytes room) {
    if (own_.store_fails_at == ++accesses_) {
        return Error{Blame::user, "the source can't be read"};
    }
    stored_[block.index()] = 1;  // Its own copy, from the same reading.
    const MutableBytes bytes = room.first(block_length(block));
    object_.fill(block.value(), bytes);
    return SourceBlock{.length = block_length(block), .leaf = xxh3_128(bytes)};
}

/// Orders as FileSink does: a manifest's blocks wait for the first, others for all of these.
bool Content::must_wait(BlockIndex block) const {
    const bool is_manifest = block.value() < plan_.manifest_blocks;
    const std::size_t first =
        is_manifest ? std::min<std::size_t>(block.index(), 1)
                    : std::min<std::size_t>(plan_.manifest_blocks, stored_.size());
    return std::any_of(stored_.begin(),
                       stored_.begin() + static_cast<std::ptrdiff_t>(first),
                       [](std::uint8_t times) { return times == 0; });
}

Result<Placing> Content::write(BlockIndex block, Bytes bytes, const Digest128&) {
    if (must_wait(block)) {
        return Placing::deferred;
    }
    if (own_.store_fails_at == accesses_++) {
        return Error{Blame::user, "No space left on device"};
    }
    if (bytes.size() != block_length(block) || !object_.is_right(block.value(), bytes)) {
        complain_("a wrong byte was stored");
    }
    if (before_[block.index()] != 0 && may_be_coded_) {
        return Placing::placed;
    }
    if (++stored_[block.index()] > 1) {
        complain_("a block was stored twice");
    }
    ++blocks_stored_;
    chunks_stored_ += object_.chunks(block.value());
    return Placing::placed;
}

Status Content::read_back(BlockIndex block, std::uint32_t offset, MutableBytes room) {
    if (stored_[block.index()] == 0 || offset != 0 || prng_.chance_ppm(own_.load_fails_ppm)) {
        return Error{Blame::node, "the disk can't be read"};
    }
    object_.fill(block.value(), room);
    return {};
}

Status Content::finish() {
    if (own_.finish_fails) {
        return Error{Blame::user, "the final name is taken"};
    }
    if (!is_source_ && blocks_stored_ != plan_.block_bytes.size()) {
        complain_("finish before every block was stored");
    }
    for (std::size_t block = 0; is_source_ && block < stored_.size(); ++block) {
        if (stored_[block] == 0 && before_[block] == 0) {
            complain_("the source finished a copy that lacks a block");
        }
    }
    if (has_finished_) {
        complain_("finish was asked for twice");
    }
    has_finished_ = true;
    return {};
}

}  // namespace stage::sim
