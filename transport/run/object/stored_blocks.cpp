#include "transport/run/object/stored_blocks.h"

#include <algorithm>

namespace stage {
namespace {

constexpr std::uint64_t kMarkBits = (std::uint64_t{1} << 52U) - 1;
constexpr unsigned kLengthBits = 21;
constexpr std::uint32_t kLength = (1U << kLengthBits) - 1;
constexpr unsigned kEncodingBits = 2;

std::uint64_t first_half(const Digest128& digest) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof value; ++i) {
        value = value << 8U | std::to_integer<std::uint64_t>(digest[i]);
    }
    return value;
}

/// A mark of both, so that neither may differ.
std::uint64_t mark_of(const Digest128& leaf, const Digest128& sent) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
    return (first_half(leaf) ^ (first_half(sent) * kOdd)) & kMarkBits;
}

}  // namespace

// First word: length and the mark's lowest 11 bits. Second: wire length, encoding, 9 bits.
// Third: 32 bits.
void StoredBlocks::add(BlockIndex block,
                       const wire::Descriptor& descriptor,
                       const Digest128& sent) {
    const std::size_t page = block.index() / kPageBlocks;
    pages_.resize(std::max(pages_.size(), page + 1));
    if (pages_[page] == nullptr) {
        pages_[page] = std::make_unique<Page>();
    }
    const std::uint64_t mark = mark_of(descriptor.leaf, sent);
    const auto low = static_cast<std::uint32_t>(mark & 0x7ffU);
    const auto middle = static_cast<std::uint32_t>(mark >> 11U & 0x1ffU);
    (*pages_[page])[block.index() % kPageBlocks] = {
        descriptor.length | low << kLengthBits,
        descriptor.wire_length |
            static_cast<std::uint32_t>(descriptor.encoding) << kLengthBits |
            middle << (kLengthBits + kEncodingBits),
        static_cast<std::uint32_t>(mark >> 20U)};
}

const StoredBlocks::Record* StoredBlocks::record(BlockIndex block) const {
    const std::size_t page = block.index() / kPageBlocks;
    if (page >= pages_.size() || pages_[page] == nullptr) {
        return nullptr;
    }
    const Record& found = (*pages_[page])[block.index() % kPageBlocks];
    return (found[0] & kLength) != 0 ? &found : nullptr;
}

std::optional<wire::Descriptor> StoredBlocks::find(BlockIndex block) const {
    const Record* const found = record(block);
    if (found == nullptr) {
        return std::nullopt;
    }
    const std::uint32_t encoding = (*found)[1] >> kLengthBits & ((1U << kEncodingBits) - 1);
    return wire::Descriptor{.length = (*found)[0] & kLength,
                            .wire_length = (*found)[1] & kLength,
                            .encoding = static_cast<wire::Encoding>(encoding),
                            .leaf = {}};
}

bool StoredBlocks::matches(BlockIndex block,
                           const Digest128& leaf,
                           const Digest128& sent) const {
    const Record* const found = record(block);
    if (found == nullptr) {
        return false;
    }
    const std::uint64_t mark = (*found)[0] >> kLengthBits |
                               std::uint64_t{(*found)[1] >> (kLengthBits + kEncodingBits)}
                                   << 11U |
                               std::uint64_t{(*found)[2]} << 20U;
    return mark == mark_of(leaf, sent);
}

}  // namespace stage
