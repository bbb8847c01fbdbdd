// Tests how the blocks of a manifest and of its files are gathered, counted and given back.
#include "stager/files/reuse/kept_form.h"
#include "stager/files/targets/file_blocks.h"
#include "stager/files/targets/held_blocks.h"
#include "stager/files/targets/manifest_blocks.h"
#include "tests/unit/files/cached.h"
#include "tests/unit/files/sink/fake_target.h"

#include <catch2/catch.hpp>

namespace stage {

using Catch::Matchers::Contains;
using test::Deeds;
using test::manifest_of;
using test::put_fake;
using test::said;

namespace {

core::BlockRun run(std::uint32_t first, std::uint32_t count) {
    return {.first = BlockIndex{first}, .count = count};
}

Digest128 leaf(unsigned number) {
    const std::byte byte{static_cast<unsigned char>(number)};
    return xxh3_128(Bytes{&byte, 1});
}

}  // namespace

TEST_CASE("a manifest of two blocks is complete when both are here") {
    const std::vector<std::byte> bytes =
        encode_manifest(manifest_of(std::vector<std::uint64_t>(20'000, 1)));
    REQUIRE(bytes.size() > kBlockBytes);
    REQUIRE(bytes.size() < 2 * kBlockBytes);
    const Bytes first = Bytes{bytes}.first(kBlockBytes);
    const Bytes second = Bytes{bytes}.subspan(kBlockBytes);
    ManifestBlocks blocks;
    CHECK(*blocks.write(BlockIndex{1}, second) == Placing::deferred);
    CHECK(*blocks.write(BlockIndex{0}, first) == Placing::placed);
    CHECK_FALSE(blocks.is_complete());
    CHECK(*blocks.write(BlockIndex{2}, second) == Placing::deferred);
    CHECK_FALSE(blocks.write(BlockIndex{1}, second.subspan(1)));
    CHECK(*blocks.write(BlockIndex{1}, second) == Placing::placed);
    CHECK(blocks.is_complete());
    CHECK(std::ranges::equal(blocks.bytes(), bytes));
    std::vector<std::byte> room(4);
    CHECK(blocks.read_back(BlockIndex{1}, 2, room).ok());
    CHECK(std::ranges::equal(room, second.subspan(2, 4)));
    CHECK_FALSE(
        blocks.read_back(BlockIndex{1}, static_cast<std::uint32_t>(second.size()), room));
}

TEST_CASE("blocks of a manifest that is known are compared with it") {
    const std::vector<std::byte> bytes = encode_manifest(manifest_of({1}));
    ManifestBlocks blocks;
    blocks.assign(bytes);
    CHECK(*blocks.write(BlockIndex{0}, bytes) == Placing::placed);
    const auto other = blocks.write(BlockIndex{0}, Bytes{bytes}.first(9));
    REQUIRE_FALSE(other);
    CHECK_THAT(other.error().sentence(), Contains("another one was offered"));
}

TEST_CASE("held blocks are counted, and dropped by file") {
    const Manifest manifest = manifest_of({2 * kBlockBytes + 7, 5});
    HeldBlocks held{manifest};
    CHECK(held.runs().empty());
    held.hold(BlockIndex{1}, kBlockBytes, leaf(1));
    held.hold(BlockIndex{3}, 7, leaf(3));
    held.hold(BlockIndex{4}, 5, leaf(4));
    CHECK(held.runs() == std::vector{run(0, 2), run(3, 2)});
    CHECK(held.bytes() == kBlockBytes + 12);
    CHECK_FALSE(held.holds(BlockIndex{0}));
    CHECK_FALSE(held.holds(BlockIndex{2}));
    CHECK_FALSE(held.holds(BlockIndex{5}));
    CHECK(held.leaves_of(manifest.entries[1]) == std::vector{leaf(4)});
    CHECK_FALSE(held.holds_all());
    held.hold(BlockIndex{2}, kBlockBytes, leaf(2));
    CHECK(held.holds_all());
    held.drop(manifest.entries[0]);
    CHECK(held.bytes() == 5);
    CHECK(held.runs() == std::vector{run(0, 1), run(4, 1)});
}

TEST_CASE("the last block of a tree's index is kept with zeros behind it") {
    Manifest manifest = manifest_of({3});
    ManifestEntry& tree = manifest.entries[0];
    tree.index_bytes = 5;
    std::vector<std::byte> room(kBlockBytes, std::byte{7});
    CHECK_FALSE(leaf_as_kept(tree, 1, 3, room));
    CHECK(room[3] == std::byte{7});
    const auto kept = leaf_as_kept(tree, 0, 5, room);
    CHECK(kept == xxh3_128(room));
    CHECK(room[4] == std::byte{7});
    CHECK(room[5] == std::byte{0});
    CHECK(sum_as_kept(tree, {leaf(1), leaf(2)}, kept) == sum_of({*kept, leaf(2)}));
    CHECK(sum_as_kept(tree, {leaf(1), leaf(2)}, std::nullopt) == sum_of({leaf(1), leaf(2)}));
}

TEST_CASE("a file's block is written once, and read back from its target") {
    const Manifest manifest = manifest_of({3});
    Deeds deeds;
    SinkTargets targets;
    targets.resize(1);
    put_fake(targets, 0, "/d/a", deeds);
    FileBlocks blocks{manifest, targets};
    const std::vector<std::byte> abc{std::byte{'a'}, std::byte{'b'}, std::byte{'c'}};
    std::vector<std::byte> room(2);
    CHECK_FALSE(blocks.read_back(BlockIndex{1}, 0, room));
    CHECK_FALSE(blocks.write(BlockIndex{1}, Bytes{abc}.first(2), leaf(1)));
    CHECK_FALSE(blocks.write(BlockIndex{2}, abc, leaf(1)));
    CHECK(*blocks.write(BlockIndex{1}, abc, leaf(1)) == Placing::placed);
    CHECK(*blocks.write(BlockIndex{1}, abc, leaf(1)) == Placing::placed);
    CHECK(blocks.held().bytes() == 3);
    CHECK(blocks.read_back(BlockIndex{1}, 1, room).ok());
    CHECK(std::ranges::equal(room, Bytes{abc}.subspan(1)));
    CHECK_FALSE(blocks.read_back(BlockIndex{1}, 2, room));
}

TEST_CASE("the blocks of an optional file that cannot be written are discarded") {
    const Manifest manifest = manifest_of({1});
    Deeds deeds;
    SinkTargets targets;
    targets.resize(1);
    put_fake(targets,
             0,
             "/d/a",
             deeds,
             {.target = {}, .is_optional = true},
             {.fails_to_write = true});
    FileBlocks blocks{manifest, targets};
    const std::vector<std::byte> one(1);
    CHECK(*blocks.write(BlockIndex{1}, one, leaf(1)) == Placing::discarded);
    CHECK(blocks.held().holds_all());
    CHECK(targets.warnings().size() == 1);
    std::vector<std::byte> room(1);
    CHECK_FALSE(blocks.read_back(BlockIndex{1}, 0, room));
}

}  // namespace stage
