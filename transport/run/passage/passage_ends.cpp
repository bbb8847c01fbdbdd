#include "transport/run/passage/passage_ends.h"

#include "transport/base/invariant.h"

namespace stage {

namespace {

/// Blocks after which the sink looks whether the other side has failed.
constexpr std::uint32_t kLookEvery = 64;

}  // namespace

PassageSink::PassageSink(Passage passage, PassageAck ack)
    : passage_{std::move(passage)}, ack_{ack} {
    const Passage::Taken taken = passage_.take_up();
    blocks_ = taken.blocks;
    bytes_ = taken.bytes;
    held_.bytes = taken.bytes;
    goes_on_ = taken.blocks > 0;
    for (const auto& [first, count] : taken.runs) {
        const std::uint32_t left_out = first == BlockIndex{0} ? 1 : 0;
        if (left_out > 0) {
            held_.bytes -= passage_.find(first)->length;
        }
        if (count > left_out) {
            held_.runs.push_back({BlockIndex{first.value() + left_out}, count - left_out});
        }
    }
}

Result<Placing> PassageSink::write(BlockIndex block, Bytes bytes, const Digest128& leaf) {
    if (blocks_ % kLookEvery == 0) {
        const auto onward = passage_.ended(Passage::Side::onward);
        if (onward.how == Passage::End::failed) {
            return Error{Blame::node, onward.why};
        }
    }
    if (const auto entry = goes_on_ ? passage_.find(block) : std::nullopt) {
        return entry->leaf == leaf
                   ? Result<Placing>{Placing::placed}
                   : Error{Blame::user,
                           "the files have changed since the other cluster began to send them"}
                         .remedy("submit again");
    }
    TRY(passage_.keep(block, bytes, leaf));
    ++blocks_;
    bytes_ += bytes.size();
    return Placing::placed;
}

Status PassageSink::read_back(BlockIndex block, std::uint32_t offset, MutableBytes room) {
    const auto entry = passage_.find(block);
    if (!entry || offset + room.size() > entry->length) {
        return Error{Blame::internal, "a block is read back that is not here"};
    }
    return passage_.read(*entry, offset, room);
}

bool PassageSink::may_finish() {
    return ack_ == PassageAck::gateway || !has_all() ||
           passage_.ended(Passage::Side::onward).how != Passage::End::open;
}

Status PassageSink::finish() {
    if (!has_all()) {
        return Error{Blame::internal,
                     "the other cluster sent " + std::to_string(blocks_) + " blocks, " +
                         std::to_string(bytes_) + " bytes, and announced " +
                         std::to_string(passage_.blocks()) + " and " +
                         std::to_string(passage_.bytes())};
    }
    passage_.end(Passage::Side::inward, Passage::End::good);
    const auto onward = passage_.ended(Passage::Side::onward);
    return onward.how == Passage::End::failed ? Status{Error{Blame::node, onward.why}}
                                              : Status{};
}

bool PassageSource::is_here(BlockIndex block) {
    // Asked first, so that blocks from before the end are found afterwards.
    const bool has_ended = passage_.ended(Passage::Side::inward).how != Passage::End::open;
    while (here_ <= block.value() && passage_.find(BlockIndex{here_})) {
        ++here_;
    }
    return here_ > block.value() || has_ended;
}

Result<SourceBlock> PassageSource::read(BlockIndex block, MutableBytes room) {
    const auto entry = passage_.find(block);
    if (!entry) {
        const auto ended = passage_.ended(Passage::Side::inward);
        return Error{ended.blame,
                     ended.why.empty() ? "the other cluster ended without sending all blocks"
                                       : ended.why};
    }
    invariant(room.size() >= entry->length, "a block has room");
    const MutableBytes bytes = room.first(entry->length);
    TRY(passage_.read(*entry, 0, bytes));
    if (xxh3_128(bytes) != entry->leaf) {
        return Error{Blame::node,
                     "the disk of this node returned other bytes than it was given"};
    }
    return SourceBlock{.length = entry->length, .leaf = entry->leaf};
}

Status PassageSource::finish() {
    return {};
}

}  // namespace stage
