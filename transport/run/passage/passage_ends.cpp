#include "transport/run/passage/passage_ends.h"

#include "transport/base/invariant.h"

namespace stage {

namespace {

/// Blocks after which the sink looks whether the other side has failed.
constexpr std::uint32_t kLookEvery = 64;

}  // namespace

Result<Placing> PassageSink::write(BlockIndex block, Bytes bytes, const Digest128& leaf) {
    if (blocks_ % kLookEvery == 0) {
        const auto onward = passage_.ended(Passage::Side::onward);
        if (onward.how == Passage::End::failed) {
            return Error{Blame::node, onward.why};
        }
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
        const std::string why = passage_.ended(Passage::Side::inward).why;
        return Error{Blame::node,
                     why.empty() ? "the other cluster ended without sending all blocks" : why};
    }
    invariant(room.size() >= entry->length, "a block has room");
    const MutableBytes bytes = room.first(entry->length);
    TRY(passage_.read(*entry, 0, bytes));
    if (xxh3_128(bytes) != entry->leaf) {
        return Error{Blame::node,
                     "the disk of this gateway returned other bytes than it was given"};
    }
    return SourceBlock{.length = entry->length, .leaf = entry->leaf};
}

Status PassageSource::finish() {
    return {};
}

}  // namespace stage
