#include "transport/run/passage/passage_ends.h"

#include "transport/base/invariant.h"

namespace stage {

Result<Placing> PassageSink::write(BlockIndex block, Bytes bytes, const Digest128& leaf) {
    TRY(passage_.keep(block, bytes, leaf));
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
    return ack_ == PassageAck::gateway || bytes_ != passage_.bytes() ||
           passage_.ended(Passage::Side::onward).how != Passage::End::open;
}

Status PassageSink::finish() {
    if (bytes_ != passage_.bytes()) {
        return Error{Blame::internal,
                     "the other cluster sent " + std::to_string(bytes_) +
                         " bytes and announced " + std::to_string(passage_.bytes())};
    }
    passage_.end(Passage::Side::inward, Passage::End::good);
    const auto onward = passage_.ended(Passage::Side::onward);
    return onward.how == Passage::End::failed ? Status{Error{Blame::node, onward.why}}
                                              : Status{};
}

bool PassageSource::is_here(BlockIndex block) {
    while (here_ <= block.value() && passage_.find(BlockIndex{here_})) {
        ++here_;
    }
    return here_ > block.value() ||
           passage_.ended(Passage::Side::inward).how == Passage::End::failed;
}

Result<SourceBlock> PassageSource::read(BlockIndex block, MutableBytes room) {
    const auto entry = passage_.find(block);
    if (!entry) {
        return Error{Blame::node, passage_.ended(Passage::Side::inward).why};
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
