#include "transport/run/object/block_store.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace stage {
namespace {

constexpr BlockIndex kFirst{7};
constexpr BlockIndex kSecond{8};

TEST_CASE("a chunk lands at its offset and moves the block's extent") {
    BlockStore store{2};
    const std::array chunk{std::byte{1}, std::byte{2}, std::byte{3}};
    store.acquire(kFirst)[99] = std::byte{8};
    REQUIRE(store.place(kFirst, 100, chunk));
    CHECK(store.extent(kFirst) == 103);
    CHECK(store.filled(kFirst)[101] == std::byte{2});
    CHECK(store.filled(kFirst)[99] == std::byte{8});

    SECTION("an earlier chunk leaves the extent where it is") {
        REQUIRE(store.place(kFirst, 0, chunk));
        CHECK(store.extent(kFirst) == 103);
    }
    SECTION("a chunk that would end beyond the block is refused and changes nothing") {
        CHECK_FALSE(store.place(kSecond, kBlockBytes - 2, chunk));
        CHECK_FALSE(store.is_resident(kSecond));
    }
}

TEST_CASE("a chunk of no bytes has no place, not even where the block ends") {
    BlockStore store{2};
    for (const std::size_t offset : {0U, kBlockBytes / 2, kBlockBytes}) {
        CHECK_FALSE(store.place(kFirst, offset, {}));
        CHECK_FALSE(store.is_resident(kFirst));
        REQUIRE(store.place(kSecond, 600, std::array{std::byte{1}}));
        CHECK_FALSE(store.place(kSecond, offset, {}));
        CHECK(store.opening_room(kSecond, offset, 0).empty());
    }
}

TEST_CASE("a released buffer makes room for the next block, which begins empty") {
    BlockStore store{1};
    REQUIRE(store.place(kFirst, 10, std::array{std::byte{1}}));
    store.release(kFirst);
    CHECK_FALSE(store.is_resident(kFirst));
    CHECK(store.acquire(kSecond).size() == kBlockBytes);
    CHECK(store.extent(kSecond) == 0);
    CHECK(store.resident() == 1);
}

TEST_CASE("a chunk is opened where it belongs only while no byte there counts") {
    BlockStore store{2};
    const std::array chunk{std::byte{1}, std::byte{2}, std::byte{3}};
    CHECK(store.opening_room(kFirst, 600, 3).empty());  // not resident
    REQUIRE(store.place(kFirst, 0, chunk));
    CHECK(store.opening_room(kFirst, 0, 3).empty());
    CHECK(store.opening_room(kFirst, kBlockBytes - 2, 3).empty());

    SECTION("what was opened and kept only counts when it is placed") {
        const MutableBytes room = store.opening_room(kFirst, 600, 3);
        REQUIRE(room.size() == 3);
        std::ranges::copy(chunk, room.begin());
        CHECK(store.extent(kFirst) == 3);
        store.keep_opened(kFirst, 600);
        CHECK(store.opening_room(kFirst, 600, 3).empty());
        REQUIRE(store.place(kFirst, 600, room));
        CHECK(store.extent(kFirst) == 603);
        CHECK(store.filled(kFirst)[602] == std::byte{3});
    }
    SECTION("what did not open leaves the place to the next") {
        store.opening_room(kFirst, 600, 3)[0] = std::byte{0xff};
        REQUIRE(store.opening_room(kFirst, 600, 3).size() == 3);
        REQUIRE(store.place(kFirst, 600, chunk));
        CHECK(store.filled(kFirst)[600] == std::byte{1});
    }
    SECTION("a disk's thread or a code that has the whole buffer has it alone") {
        static_cast<void>(store.acquire(kFirst));
        CHECK(store.opening_room(kFirst, 600, 3).empty());
    }
    SECTION("the next block begins anew") {
        store.release(kFirst);
        CHECK(store.opening_room(kFirst, 0, 3).empty());
        REQUIRE(store.place(kSecond, 600, chunk));
        CHECK(store.opening_room(kSecond, 0, 3).size() == 3);
    }
}

TEST_CASE("releasing what is not resident is harmless") {
    BlockStore store{1};
    store.release(kFirst);
    CHECK(store.resident() == 0);
}

/// Has two buffers.
struct Spare final : SpareBuffers {
    std::byte* take() override { return left > 0 ? buffers[--left].get() : nullptr; }

    std::array<std::unique_ptr<std::byte[]>, 2> buffers{
        std::make_unique<std::byte[]>(kBlockBytes), std::make_unique<std::byte[]>(kBlockBytes)};
    std::size_t left = 2;
};

TEST_CASE("beyond the blocks in memory spare buffers are taken, and then memory") {
    Spare spare;
    BlockStore store{1, kBlockBytes, &spare};
    const std::array chunk{std::byte{5}};
    for (unsigned i = 0; i < 3; ++i) {
        REQUIRE(store.place(BlockIndex{i}, 10, chunk));
    }
    CHECK(spare.left == 0);
    CHECK(spare.buffers[1][10] == std::byte{5});
    CHECK_FALSE(store.take_sparing_ended());
    REQUIRE(store.place(BlockIndex{3}, 10, chunk));
    CHECK(store.take_sparing_ended());
    CHECK_FALSE(store.take_sparing_ended());
    CHECK(store.filled(BlockIndex{3})[10] == std::byte{5});

    SECTION("a spare buffer that is free again is used again") {
        store.release(BlockIndex{1});
        REQUIRE(store.place(BlockIndex{4}, 11, chunk));
        CHECK(spare.buffers[1][11] == std::byte{5});
        CHECK_FALSE(store.take_sparing_ended());
    }
}

TEST_CASE("the blocks of an object in memory are there, and the last one is short") {
    std::vector<std::byte> object(kBlockBytes + 1000);
    BlockStore store{object, 1};
    const BlockIndex last{1};
    const std::array chunk{std::byte{1}, std::byte{2}};
    REQUIRE(store.place(last, 998, chunk));
    CHECK(object[kBlockBytes + 999] == std::byte{2});
    CHECK_FALSE(store.place(last, 999, chunk));
    CHECK(store.opening_room(last, 0, 1001).empty());
    CHECK(store.opening_room(last, 0, 600).data() == &object[kBlockBytes]);
    CHECK(store.acquire(last).size() == 1000);
    CHECK(store.acquire(BlockIndex{0}).data() == object.data());
    store.release(last);
    CHECK_FALSE(store.is_resident(last));
    CHECK(store.acquire(last)[999] == std::byte{2});

    // Another block has a buffer of its own.
    const MutableBytes other = store.acquire(BlockIndex{2});
    CHECK(other.size() == kBlockBytes);
    store.release(BlockIndex{2});
    CHECK(store.acquire(BlockIndex{3}).data() == other.data());
}

}  // namespace
}  // namespace stage
