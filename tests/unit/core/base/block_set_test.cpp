#include "transport/core/base/block_set.h"

#include "tests/unit/core/parts.h"
#include "transport/base/prng.h"

#include <catch2/catch.hpp>

#include <set>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

TEST_CASE("a block set is a set, across its pages") {
    const auto blocks = GENERATE(1U, 4095U, 4096U, 4097U, 10'000U);
    CAPTURE(blocks);
    Prng prng{blocks};
    BlockSet held{blocks};
    std::set<std::uint32_t> expected;
    for (int i = 0; i < 3000; ++i) {
        const auto drawn = static_cast<std::uint32_t>(prng.below(blocks));
        if (expected.insert(drawn).second) {
            CHECK_FALSE(held.has(block(drawn)));
            held.add(block(drawn));
        }
        REQUIRE(held.has(block(drawn)));
        REQUIRE(held.count() == expected.size());
        const auto from = static_cast<std::uint32_t>(prng.below(blocks + 1));
        const auto below = static_cast<std::uint32_t>(prng.below(blocks + 1));
        std::uint32_t absent = std::min(from, below);
        while (absent < below && expected.contains(absent)) {
            ++absent;
        }
        CHECK(held.next_absent(from, below) == absent);
    }
    CHECK_FALSE(held.has(block(blocks)));
}

TEST_CASE("a whole block set has no absent block, in whatever order it was filled") {
    constexpr std::uint32_t kBlocks = 3 * 4096 + 5;
    BlockSet held{kBlocks};
    for (std::uint32_t i = kBlocks; i-- > 0;) {
        CHECK(held.next_absent(0, kBlocks) == 0);
        held.add(block(i));
    }
    CHECK(held.count() == kBlocks);
    CHECK(held.next_absent(0, kBlocks) == kBlocks);
    CHECK(held.has(block(kBlocks - 1)));
}
