#include "transport/core/base/descriptor_table.h"

#include "transport/base/invariant.h"

#include <algorithm>

namespace stage::core {

DescriptorTable::DescriptorTable(std::uint32_t blocks, std::uint32_t room)
    : blocks_{blocks}, entries_(std::clamp<std::uint32_t>(blocks, 1, room)) {
}

bool DescriptorTable::learn(BlockIndex block, const wire::Descriptor& descriptor) {
    if (block.value() < needed_from_ || block.value() >= end() || knows(block) ||
        descriptor.length == 0) {
        return false;
    }
    entries_[block.index() % entries_.size()] = {.block = block, .descriptor = descriptor};
    return true;
}

void DescriptorTable::forget(BlockIndex block) {
    if (knows(block)) {
        entries_[block.index() % entries_.size()] = {};
        known_below_ = std::min(known_below_, block.value());
    }
}

void DescriptorTable::advance(std::uint32_t block) {
    invariant(block >= needed_from_, "what is held stays held");
    needed_from_ = block;
    known_below_ = std::max(known_below_, block);
}

/// The first block that there is no room for, or how many there are.
std::uint32_t DescriptorTable::end() const {
    const std::uint64_t end = std::uint64_t{needed_from_} + entries_.size();
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(end, blocks_));
}

std::uint32_t DescriptorTable::horizon() const {
    const auto room = static_cast<std::uint32_t>(entries_.size());
    const auto answer = static_cast<std::uint32_t>(wire::kMaxDescriptors);
    return end() == blocks_ ? blocks_ : end() - std::min(answer, room / 2);
}

std::uint32_t DescriptorTable::first_unknown() {
    known_below_ = first_unknown(known_below_, blocks_);
    return known_below_;
}

std::uint32_t DescriptorTable::first_unknown(std::uint32_t from, std::uint32_t below) const {
    while (from < below && knows(BlockIndex{from})) {
        ++from;
    }
    return from;
}

std::vector<std::byte> DescriptorTable::describe(BlockIndex first, std::uint32_t count) const {
    wire::Describe body{.first = first, .descriptors = {}};
    const std::uint32_t most = std::min<std::uint32_t>(count, wire::kMaxDescriptors);
    for (std::uint32_t i = 0; i < most; ++i) {
        const BlockIndex block{first.value() + i};
        if (!knows(block)) {
            break;
        }
        body.descriptors.push_back(at(block));
    }
    return body.descriptors.empty() ? std::vector<std::byte>{} : wire::write(body);
}

}  // namespace stage::core
