#include "transport/core/descriptor_table.h"

#include <algorithm>

namespace stage::core {

bool DescriptorTable::learn(BlockIndex block, const wire::Descriptor& descriptor) {
    if (block.index() >= table_.size() || knows(block) || descriptor.length == 0) {
        return false;
    }
    table_[block.index()] = descriptor;
    ++known_;
    return true;
}

void DescriptorTable::forget(BlockIndex block) {
    if (knows(block)) {
        table_[block.index()] = {};
        --known_;
        known_below_ = std::min(known_below_, block.value());
    }
}

std::uint32_t DescriptorTable::first_unknown() {
    known_below_ = first_unknown(known_below_, static_cast<std::uint32_t>(table_.size()));
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
