#include "transport/core/residence.h"

#include "transport/base/invariant.h"

namespace stage::core {
namespace {

Operation release_of(BlockIndex block) {
    Operation operation;
    operation.kind = OperationKind::release;
    operation.block = block;
    return operation;
}

}  // namespace

bool Residence::is_clean(BlockIndex block) const {
    const auto found = entries_.find(block);
    return found != entries_.end() && found->second.is_clean;
}

bool Residence::has_room() const {
    if (entries_.size() < blocks_max_) {
        return true;
    }
    for (const auto& [block, entry] : entries_) {
        if (entry.is_clean && entry.pins == 0) {
            return true;
        }
    }
    return false;
}

std::map<BlockIndex, Residence::Entry>::iterator Residence::evictable() {
    auto oldest = entries_.end();
    for (auto at = entries_.begin(); at != entries_.end(); ++at) {
        const bool may_go = at->second.is_clean && at->second.pins == 0;
        if (may_go &&
            (oldest == entries_.end() || at->second.touched < oldest->second.touched)) {
            oldest = at;
        }
    }
    return oldest;
}

bool Residence::admit(BlockIndex block, OperationQueue& operations) {
    invariant(!contains(block), "a block has one buffer");
    if (entries_.size() >= blocks_max_) {
        const auto oldest = evictable();
        if (oldest == entries_.end()) {
            return false;
        }
        operations.push_back(release_of(oldest->first));
        entries_.erase(oldest);
    }
    entries_[block].touched = ++touches_;
    return true;
}

void Residence::settle(BlockIndex block) {
    const auto found = entries_.find(block);
    invariant(found != entries_.end(), "only a resident block becomes clean");
    found->second.is_clean = true;
    found->second.touched = ++touches_;
}

void Residence::release(BlockIndex block, OperationQueue& operations) {
    if (entries_.erase(block) > 0) {
        operations.push_back(release_of(block));
    }
}

void Residence::pin(BlockIndex block) {
    const auto found = entries_.find(block);
    invariant(found != entries_.end(), "only a resident block is pinned");
    ++found->second.pins;
}

void Residence::unpin(BlockIndex block) {
    const auto found = entries_.find(block);
    if (found != entries_.end() && found->second.pins > 0) {
        --found->second.pins;
    }
}

void Residence::touch(BlockIndex block) {
    const auto found = entries_.find(block);
    if (found != entries_.end()) {
        found->second.touched = ++touches_;
    }
}

}  // namespace stage::core
