#include "tests/sim/host/object.h"

#include "transport/base/checksum.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace stage::sim {
namespace {

using Number = std::array<std::byte, sizeof(std::uint64_t)>;

/// Neither the number nor its first byte is ever 0.
std::uint64_t mix(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    std::uint64_t mixed = a * 0x9e3779b97f4a7c15U ^ (b << 20U) ^ c;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    return (mixed ^ (mixed >> 27U)) | 1U;
}

/// Each number of a block, or what of the last one fits.
template <class Visit>
void for_each_number(std::uint64_t seed, std::uint32_t block, std::size_t bytes, Visit visit) {
    std::uint64_t index = 0;
    for (std::size_t at = 0; at < bytes; at += sizeof(Number)) {
        const auto number = std::bit_cast<Number>(mix(seed, std::uint64_t{block} + 1, index++));
        visit(at, number, std::min(sizeof(Number), bytes - at));
    }
}

}  // namespace

bool Object::is_hole(std::uint32_t block) const {
    return plan_.hole_percent > 0 && mix(plan_.seed, block, 7) / 2 % 100 < plan_.hole_percent;
}

std::uint32_t Object::chunks(std::uint32_t block) const {
    if (block >= plan_.block_bytes.size()) {
        return core::kSymbolsAndParitiesMax;
    }
    return is_hole(block) ? 0 : cuts(block);
}

std::uint32_t Object::chunk_bytes(std::uint32_t block, std::uint32_t chunk) const {
    std::uint32_t rest = 0;
    if (block < plan_.block_bytes.size()) {
        rest = plan_.block_bytes[block] - std::min(chunk * cut_, plan_.block_bytes[block]);
    } else {
        for (std::uint32_t one = 0; one < plan_.block_bytes.size(); ++one) {
            rest = std::max(rest, is_hole(one) ? 0 : plan_.block_bytes[one]);
        }
    }
    return std::min(rest, cut_);
}

std::uint64_t Object::chunks_all() const {
    std::uint64_t sum = 0;
    for (std::uint32_t block = 0; block < plan_.block_bytes.size(); ++block) {
        sum += chunks(block);
    }
    return sum;
}

std::uint32_t Object::held_chunk_bytes() const {
    return is_small() ? std::uint32_t{sizeof(Number)} : cut_;
}

std::uint32_t Object::held_bytes(std::uint32_t block) const {
    return is_small() ? cuts(block) * std::uint32_t{sizeof(Number)} : plan_.block_bytes[block];
}

std::uint32_t Object::held_bytes_max() const {
    const std::uint32_t chunks =
        std::max(kBlockBytes / cut_ + 1U, core::kSymbolsAndParitiesMax);
    return is_small() ? chunks * std::uint32_t{sizeof(Number)}
                      : std::max<std::uint32_t>(kBlockBytes, chunks * cut_);
}

void Object::fill(std::uint32_t block, MutableBytes bytes) const {
    if (is_hole(block)) {
        std::ranges::fill(bytes, std::byte{0});
        return;
    }
    for_each_number(plan_.seed, block, bytes.size(), [&](auto at, const auto& number, auto n) {
        std::memcpy(&bytes[at], number.data(), n);
    });
}

wire::Descriptor Object::describe(std::uint32_t block) const {
    std::vector<std::byte> held(held_bytes(block));
    fill(block, held);
    const std::uint32_t length = plan_.block_bytes[block];
    return {.length = length,
            .wire_length = is_hole(block) ? 0 : length,
            .encoding = is_hole(block) ? wire::Encoding::hole : wire::Encoding::raw,
            .leaf = xxh3_128(held)};
}

bool Object::is_right(std::uint32_t block, Bytes bytes) const {
    if (is_hole(block)) {
        return std::ranges::all_of(bytes, [](std::byte one) { return one == std::byte{0}; });
    }
    std::vector<std::byte> right(bytes.size());
    fill(block, right);
    return std::ranges::equal(bytes, right);
}

}  // namespace stage::sim
