#include "transport/core/sending/source_descriptors.h"

#include <algorithm>
#include <cstring>

namespace stage::core {
namespace {

/// A changed block has the same mark once in 2^64.
std::uint64_t mark_of(const wire::Descriptor& descriptor) {
    std::uint64_t leaf = 0;
    std::memcpy(&leaf, descriptor.leaf.data(), sizeof leaf);
    const std::uint64_t lengths =
        std::uint64_t{descriptor.length} << 32U | descriptor.wire_length;
    const auto encoding = static_cast<std::uint64_t>(descriptor.encoding);
    const std::uint64_t mark = leaf ^ (lengths * 4 + encoding) * 0x9E3779B97F4A7C15U;
    return mark != 0 ? mark : 1;
}

}  // namespace

SourceDescriptors::SourceDescriptors(std::uint32_t blocks,
                                     std::uint32_t room,
                                     const BufferPool& pool)
    : room_{room}, pool_{pool}, recent_{blocks, room}, marks_(blocks > room ? blocks : 0) {
}

bool SourceDescriptors::on_read(BlockIndex block, const wire::Descriptor& as) {
    if (!was_read(block)) {
        learn(block, as);
        return true;
    }
    if (recent_.knows(block)) {
        return recent_.at(block) == as;
    }
    std::erase_if(again_, [this](const auto& each) { return !pool_.contains(each.first); });
    again_[block] = as;
    return marks_[block.index()] == mark_of(as);
}

void SourceDescriptors::learn(BlockIndex block, const wire::Descriptor& as) {
    if (!marks_.empty()) {
        marks_[block.index()] = mark_of(as);
        make_room(block.value() + 1);
    }
    recent_.learn(block, as);
}

/// A block that was read long ago may still be in memory, where its descriptor is needed.
void SourceDescriptors::make_room(std::uint32_t end) {
    const std::uint32_t first = newest_end_ - std::min(newest_end_, room_);
    const std::uint32_t past = newest_end_;
    newest_end_ = std::max(newest_end_, end);
    const std::uint32_t kept = newest_end_ - std::min(newest_end_, room_);
    for (BlockIndex old{first}; old.value() < std::min(kept, past);
         old = BlockIndex{old.value() + 1}) {
        if (recent_.knows(old) && pool_.contains(old)) {
            again_[old] = recent_.at(old);
        }
    }
    recent_.advance(kept);
}

const wire::Descriptor* SourceDescriptors::find(BlockIndex block) const {
    if (recent_.knows(block)) {
        return &recent_.at(block);
    }
    const auto found = again_.find(block);
    return found != again_.end() && pool_.contains(block) ? &found->second : nullptr;
}

std::vector<std::byte> SourceDescriptors::describe(BlockIndex first,
                                                   std::uint32_t count) const {
    const wire::Descriptor* const known = find(first);
    if (known == nullptr || recent_.knows(first)) {
        return recent_.describe(first, count);
    }
    return wire::write(wire::Describe{.first = first, .descriptors = {*known}});
}

}  // namespace stage::core
