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

/// Every change of an entry goes through here, so that the order of eviction follows it.
template <class Change>
void BufferPool::change(std::map<BlockIndex, Entry>::iterator at, Change how) {
    evictable_.erase(at->second.touched);
    how(at->second);
    if (at->second.may_go()) {
        evictable_.emplace(at->second.touched, at->first);
    }
}

void BufferPool::forget(std::map<BlockIndex, Entry>::iterator at) {
    evictable_.erase(at->second.touched);
    entries_.erase(at);
}

bool BufferPool::admit(BlockIndex block, OperationQueue& operations) {
    invariant(!contains(block), "a block has one buffer");
    if (!has_room()) {
        return false;
    }
    evict_until(blocks_max_ - 1U, operations);
    entries_[block].touched = ++touches_;
    return true;
}

/// Until at most `blocks` are left, as far as evictable ones allow.
void BufferPool::evict_until(std::size_t blocks, OperationQueue& operations) {
    while (entries_.size() > blocks && !evictable_.empty()) {
        const BlockIndex oldest = evictable_.begin()->second;
        operations.push_back(release_of(oldest));
        forget(entries_.find(oldest));
    }
}

void BufferPool::settle(BlockIndex block) {
    const auto found = entries_.find(block);
    invariant(found != entries_.end(), "only a resident block becomes clean");
    change(found, [this](Entry& entry) {
        entry.is_clean = true;
        entry.touched = ++touches_;
    });
}

void BufferPool::release(BlockIndex block, OperationQueue& operations) {
    const auto found = entries_.find(block);
    if (found != entries_.end()) {
        forget(found);
        operations.push_back(release_of(block));
    }
}

void BufferPool::pin(BlockIndex block) {
    const auto found = entries_.find(block);
    invariant(found != entries_.end(), "only a resident block is pinned");
    change(found, [](Entry& entry) { ++entry.pins; });
}

void BufferPool::unpin(BlockIndex block) {
    const auto found = entries_.find(block);
    if (found != entries_.end() && found->second.pins > 0) {
        change(found, [](Entry& entry) { --entry.pins; });
    }
}

void BufferPool::touch(BlockIndex block) {
    const auto found = entries_.find(block);
    if (found != entries_.end()) {
        change(found, [this](Entry& entry) { entry.touched = ++touches_; });
    }
}

}  // namespace stage::core
