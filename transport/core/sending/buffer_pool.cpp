#include "transport/core/sending/buffer_pool.h"

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

bool BufferPool::is_clean(BlockIndex block) const {
    const auto found = entries_.find(block);
    return found != entries_.end() && found->second.is_clean;
}

std::map<BlockIndex, BufferPool::Entry>::iterator BufferPool::evictable() {
    auto oldest = entries_.end();
    for (auto at = entries_.begin(); at != entries_.end(); ++at) {
        if (at->second.may_go() &&
            (oldest == entries_.end() || at->second.touched < oldest->second.touched)) {
            oldest = at;
        }
    }
    return oldest;
}

bool BufferPool::admit(BlockIndex block, OperationQueue& operations) {
    invariant(!contains(block), "a block has one buffer");
    if (!has_room()) {
        return false;
    }
    if (entries_.size() >= blocks_max_) {
        const auto oldest = evictable();
        operations.push_back(release_of(oldest->first));
        entries_.erase(oldest);
    }
    entries_[block].touched = ++touches_;
    ++busy_;
    return true;
}

void BufferPool::settle(BlockIndex block) {
    const auto found = entries_.find(block);
    invariant(found != entries_.end(), "only a resident block becomes clean");
    change(found->second, [](Entry& entry) { entry.is_clean = true; });
    found->second.touched = ++touches_;
}

void BufferPool::release(BlockIndex block, OperationQueue& operations) {
    const auto found = entries_.find(block);
    if (found != entries_.end()) {
        busy_ -= found->second.may_go() ? 0U : 1U;
        entries_.erase(found);
        operations.push_back(release_of(block));
    }
}

void BufferPool::pin(BlockIndex block) {
    const auto found = entries_.find(block);
    invariant(found != entries_.end(), "only a resident block is pinned");
    change(found->second, [](Entry& entry) { ++entry.pins; });
}

void BufferPool::unpin(BlockIndex block) {
    const auto found = entries_.find(block);
    if (found != entries_.end() && found->second.pins > 0) {
        change(found->second, [](Entry& entry) { --entry.pins; });
    }
}

void BufferPool::touch(BlockIndex block) {
    const auto found = entries_.find(block);
    if (found != entries_.end()) {
        found->second.touched = ++touches_;
    }
}

}  // namespace stage::core
