// Tests what a receiver remembers of the blocks that it stored.
#include "transport/run/object/stored_blocks.h"

#include "transport/base/prng.h"
#include "transport/run/object/own_memory.h"

#include <catch2/catch.hpp>

#include <algorithm>

namespace stage {
namespace {

Digest128 digest_of(std::uint64_t value) {
    Prng prng{value};
    Digest128 digest{};
    for (std::byte& each : digest) {
        each = static_cast<std::byte>(prng.below(256));
    }
    return digest;
}

wire::Descriptor descriptor_of(std::uint32_t length, wire::Encoding encoding) {
    return {.length = length,
            .wire_length = encoding == wire::Encoding::hole   ? 0
                           : encoding == wire::Encoding::zstd ? length / 3 + 1
                                                              : length,
            .encoding = encoding,
            .leaf = digest_of(length)};
}

}  // namespace

TEST_CASE("a stored block is remembered with its lengths, its encoding and its digests") {
    StoredBlocks stored;
    CHECK_FALSE(stored.find(BlockIndex{0}));
    for (const std::uint32_t block : {0U, 1U, 4095U, 4096U, 100'000U}) {
        for (const auto encoding :
             {wire::Encoding::raw, wire::Encoding::hole, wire::Encoding::zstd}) {
            for (const std::uint32_t length : {1U, 4711U, kBlockBytes}) {
                const bool is_shorter = encoding == wire::Encoding::zstd;
                const Digest128 sent = is_shorter ? digest_of(block + 7) : Digest128{};
                const wire::Descriptor as = descriptor_of(length, encoding);
                stored.add(BlockIndex{block}, as, sent);
                wire::Descriptor found = *stored.find(BlockIndex{block});
                CHECK(found.leaf == wire::Leaf{});
                found.leaf = as.leaf;
                CHECK(found == as);
                CHECK(stored.matches(BlockIndex{block}, as.leaf, sent));
                CHECK_FALSE(stored.matches(BlockIndex{block}, digest_of(99), sent));
                CHECK_FALSE(stored.matches(BlockIndex{block}, as.leaf, digest_of(98)));
            }
        }
    }
    CHECK_FALSE(stored.find(BlockIndex{2}));
    CHECK_FALSE(stored.find(BlockIndex{1U << 24U}));
    CHECK_FALSE(stored.matches(BlockIndex{2}, {}, {}));
}

// With 24 resident blocks, and the descriptors that the core keeps, a process stays below the
// 64 MiB that docs/benchmarks/memory.md promises.
TEST_CASE("of an object of 2 TiB a receiver remembers 24 MiB, and nothing twice") {
    constexpr std::uint32_t kBlocks = 1U << 21U;
    StoredBlocks stored;
    const std::uint64_t before = own_memory_bytes();
    const wire::Descriptor as = descriptor_of(kBlockBytes, wire::Encoding::raw);
    for (std::uint32_t block = 0; block < kBlocks; ++block) {
        stored.add(BlockIndex{block}, as, {});
    }
    CHECK(stored.matches(BlockIndex{kBlocks - 1}, as.leaf, {}));
    const std::uint64_t taken = own_memory_bytes() - std::min(before, own_memory_bytes());
    CHECK(taken < 26U << 20U);
}

}  // namespace stage
