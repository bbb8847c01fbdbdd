#include "transport/core/base/chunk_map.h"

#include "tests/unit/core/parts.h"
#include "transport/base/prng.h"

#include <catch2/catch.hpp>

#include <set>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

TEST_CASE("a block is open, then held; the number of open blocks is limited") {
    ChunkMap map{10, 20, 2};
    REQUIRE(map.open(block(3)) != nullptr);
    REQUIRE(map.open(block(1)) != nullptr);
    CHECK(map.open(block(5)) == nullptr);
    CHECK(map.at(0).block == block(1));
    CHECK(map.at(1).block == block(3));
    map.find(block(3))->have.add(7);
    map.close(block(3));
    CHECK(map.find(block(3)) == nullptr);
    OpenBlock* again = map.open(block(3));
    REQUIRE(again != nullptr);
    CHECK(again->have.is_empty());
    map.hold(block(3));
    CHECK(map.is_held(block(3)));
    CHECK(map.held() == 1);
    CHECK_FALSE(map.holds_all());
    CHECK_FALSE(map.is_held(block(99)));
}

TEST_CASE("an opened block has nothing of the block that had its slot before") {
    ChunkMap map{10, 20, 1};
    OpenBlock& before = *map.open(block(3));
    before.have.add(7);
    before.asked.add(8);
    before.state = OpenState::storing;
    before.chunks = 20;
    before.bad_digests = 2;
    before.failures = 3;
    before.silences = 4;
    before.refusals = 5;
    before.busy = 6;
    before.ask_after = Instant{} + std::chrono::seconds{1};
    before.lacking_count = 1;
    map.hold(block(3));
    const OpenBlock& open = *map.open(block(5));
    CHECK(open.block == block(5));
    CHECK(open.have.is_empty());
    CHECK(open.asked.is_empty());
    CHECK(open.have.capacity() == 20);
    CHECK(open.asked.capacity() == 20);
    CHECK(open.state == OpenState::filling);
    CHECK(open.chunks == 0);
    CHECK(open.bad_digests + open.failures + open.silences + open.refusals + open.busy == 0);
    CHECK(open.ask_after == kLongAgo);
    CHECK(open.lacking_count == 0);
}

TEST_CASE("a block is complete when its chunks are counted, and their number is known") {
    ChunkMap map{1, 4, 1};
    OpenBlock* open = map.open(block(0));
    open->have.add(0);
    CHECK_FALSE(open->is_complete());
    open->chunks = 2;
    CHECK_FALSE(open->is_complete());
    open->have.add(1);
    CHECK(open->is_complete());
}

TEST_CASE("the first absent block is neither held nor open") {
    const auto seed = GENERATE(range(1U, 30U));
    CAPTURE(seed);
    Prng prng{seed};
    const auto blocks = static_cast<std::uint32_t>(1 + prng.below(200));
    ChunkMap map{blocks, 4, 16};
    std::set<std::uint32_t> there;
    std::set<std::uint32_t> open;
    for (int i = 0; i < 300; ++i) {
        const auto index = static_cast<std::uint32_t>(prng.below(blocks));
        if (!there.contains(index) && open.size() < 16) {
            REQUIRE(map.open(block(index)) != nullptr);
            there.insert(index);
            open.insert(index);
        } else if (open.contains(index)) {
            open.erase(index);
            if (prng.below(2) == 0) {
                map.hold(block(index));
            } else {
                map.close(block(index));
                there.erase(index);
            }
        }
        const auto from = static_cast<std::uint32_t>(prng.below(blocks + 1));
        const auto below = static_cast<std::uint32_t>(prng.below(blocks + 1));
        std::uint32_t expected = std::min(from, below);
        while (expected < below && there.contains(expected)) {
            ++expected;
        }
        CHECK(map.first_absent(from, below) == expected);
    }
    CHECK(map.held() + open.size() == there.size());
}

TEST_CASE("what lies between two places is all here, or something of it is missing") {
    ChunkMap map{4, 4, 4};
    OpenBlock* first = map.open(block(0));
    first->chunks = 3;
    first->have.add(0);
    first->have.add(2);
    CHECK_FALSE(map.lacks({}, {}));
    CHECK_FALSE(map.lacks({}, {.block = 0, .chunk = 1}));
    CHECK(map.lacks({}, {.block = 0, .chunk = 2}));
    CHECK_FALSE(map.lacks({.block = 0, .chunk = 2}, {.block = 1, .chunk = 0}));
    CHECK(map.lacks({.block = 0, .chunk = 2}, {.block = 1, .chunk = 1}));  // not even open
    OpenBlock* second = map.open(block(1));
    second->have.add(0);
    CHECK(map.lacks({.block = 1, .chunk = 0},
                    {.block = 1, .chunk = 1}));  // its length is not known
    second->chunks = 1;
    CHECK_FALSE(map.lacks({.block = 0, .chunk = 2}, {.block = 2, .chunk = 0}));
    map.find(block(0))->state = OpenState::verifying;
    CHECK_FALSE(map.lacks({}, {.block = 2, .chunk = 0}));
    map.close(block(0));
    CHECK(map.lacks({}, {.block = 2, .chunk = 0}));  // its bytes were bad
    CHECK(map.lacks({.block = 1, .chunk = 0}, {.block = 4, .chunk = 0}));
    map.hold(block(1));
    CHECK_FALSE(map.lacks({.block = 1, .chunk = 0}, {.block = 2, .chunk = 0}));
}
