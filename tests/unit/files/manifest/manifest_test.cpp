// Tests that a manifest is decoded as it was encoded, and anything else refused.
#include "stager/files/manifest/manifest.h"

#include "transport/base/prng.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

ManifestEntry entry(std::string name, std::uint64_t size) {
    ManifestEntry made;
    made.name = std::move(name);
    made.size = size;
    made.mode = 0640;
    made.uid = 1000;
    made.gid = 100;
    made.mtime = {-5, 123456789};
    return made;
}

Manifest sample() {
    Manifest manifest;
    manifest.entries = {entry("a", 1), entry("empty", 0), entry("b", 5 * kBlockBytes + 3)};
    ManifestEntry absent = entry("absent", 0);
    absent.trouble = "/x/absent: No such file or directory";
    absent.line = "1;-,/x/absent,";
    manifest.entries.push_back(absent);
    manifest.entries.push_back(entry("c", kBlockBytes));
    REQUIRE(manifest.lay_out().ok());
    return manifest;
}

}  // namespace

TEST_CASE("a manifest is decoded as it was encoded") {
    const Manifest manifest = sample();
    const std::vector<std::byte> bytes = encode_manifest(manifest);
    CHECK(manifest_length(bytes) == bytes.size());
    const Result<Manifest> back = decode_manifest(bytes);
    REQUIRE(back);
    CHECK(*back == manifest);
    CHECK(back->block_count() == 1 + 1 + 6 + 1);
    CHECK(back->file_bytes() == 1 + 6 * kBlockBytes + 3);
}

TEST_CASE("a file with bytes and without a shape is recognised, by complete digests") {
    const bool is_tree = GENERATE(false, true);
    const auto is_taken = [&](std::size_t stamp, std::size_t content, std::uint64_t size) {
        Manifest manifest;
        manifest.entries = {entry("a", size)};
        manifest.entries[0].index_bytes = is_tree ? 100 : 0;
        manifest.entries[0].inodes = is_tree ? 2 : 0;
        manifest.entries[0].stamp.assign(stamp, std::byte{1});
        manifest.entries[0].content.assign(content, std::byte{2});
        REQUIRE(manifest.lay_out().ok());
        const Result<Manifest> back = decode_manifest(encode_manifest(manifest));
        return back && *back == manifest;
    };
    CHECK(is_taken(32, 48, 9));
    CHECK(is_taken(32, 0, 9));
    CHECK_FALSE(is_taken(0, 48, 9));
    CHECK_FALSE(is_taken(31, 0, 9));
    CHECK_FALSE(is_taken(32, 47, 9));
    CHECK_FALSE(is_taken(32, 48, 0));
}

TEST_CASE("as one file a tree's data begin at a block boundary") {
    ManifestEntry one = entry("a", 7);
    CHECK(one.kept_bytes() == 7);
    CHECK(one.index_blocks() == 0);
    one.index_bytes = kBlockBytes + 1;
    CHECK(one.kept_bytes() == 2 * kBlockBytes + 7);
    CHECK(one.index_blocks() == 2);
}

TEST_CASE("every block of an object has its place, and no other") {
    const Manifest manifest = sample();
    std::vector<std::uint64_t> covered(manifest.entries.size());
    CHECK_FALSE(find_block(manifest, BlockIndex{0}));
    for (std::uint32_t i = 1; i < manifest.block_count(); ++i) {
        const auto place = find_block(manifest, BlockIndex{i});
        REQUIRE(place);
        CHECK(place->offset == covered[place->entry]);
        covered[place->entry] += place->length;
    }
    for (std::size_t i = 0; i < covered.size(); ++i) {
        CHECK(covered[i] == manifest.entries[i].size);
    }
    CHECK_FALSE(find_block(manifest, BlockIndex{manifest.block_count()}));
    CHECK_FALSE(find_block(manifest, BlockIndex{0xffffffffU}));
}

TEST_CASE("a tree has blocks for its index, then for its data") {
    Manifest manifest;
    ManifestEntry tree = entry("t", kBlockBytes + 5);
    tree.index_bytes = 2 * kBlockBytes + 7;
    tree.room = 9 * kBlockBytes;
    tree.inodes = 3;
    manifest.entries = {entry("a", 1), tree, entry("b", 2)};
    REQUIRE(manifest.lay_out().ok());
    CHECK(manifest.block_count() == 1 + 1 + (3 + 2) + 1);
    CHECK(manifest.file_bytes() == kBlockBytes + 8);
    CHECK(manifest.stream_bytes() == manifest.file_bytes() + tree.index_bytes);
    const Result<Manifest> back = decode_manifest(encode_manifest(manifest));
    REQUIRE(back);
    CHECK(*back == manifest);
    std::uint64_t offset = 0;
    for (const std::uint32_t length : {kBlockBytes, kBlockBytes, 7U, kBlockBytes, 5U}) {
        const auto block = static_cast<std::uint32_t>((offset + kBlockBytes - 1) / kBlockBytes);
        const auto place = find_block(manifest, BlockIndex{2 + block});
        REQUIRE(place);
        CHECK(place->entry == 1);
        CHECK(place->offset == offset);
        CHECK(place->length == length);
        offset += length;
    }
    CHECK(find_block(manifest, BlockIndex{7})->entry == 2);
    for (const auto spoil : {+[](ManifestEntry& one) { one.inodes = 0; },
                             +[](ManifestEntry& one) { one.trouble = "x"; },
                             +[](ManifestEntry& one) { one.index_bytes = 0; },
                             +[](ManifestEntry& one) { one.index_bytes = ~0U; }}) {
        Manifest other = manifest;
        spoil(other.entries[1]);
        REQUIRE(other.lay_out().ok());
        CHECK_FALSE(decode_manifest(encode_manifest(other)));
    }
}

TEST_CASE("a truncated or extended manifest is refused") {
    std::vector<std::byte> bytes = encode_manifest(sample());
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        CHECK_FALSE(decode_manifest(Bytes{bytes}.first(length)));
    }
    bytes.push_back(std::byte{0});
    CHECK_FALSE(decode_manifest(bytes));
}

TEST_CASE("a forged manifest is refused or placed as by lay_out()") {
    const std::vector<std::byte> whole = encode_manifest(sample());
    for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
        Prng prng{seed};
        std::vector<std::byte> bytes = whole;
        for (std::uint64_t flips = 1 + prng.below(3); flips > 0; --flips) {
            bytes[prng.below(bytes.size())] = static_cast<std::byte>(prng.below(256));
        }
        const Result<Manifest> back = decode_manifest(bytes);
        if (back) {
            Manifest again = *back;
            CAPTURE(seed);
            REQUIRE(again.lay_out().ok());
            CHECK(again == *back);
        }
    }
}

TEST_CASE("names that lead elsewhere are refused") {
    const std::string bad = GENERATE(as<std::string>{},
                                     "",
                                     ".",
                                     "..",
                                     "a/b",
                                     "/etc/passwd",
                                     std::string("a\0b", 3),
                                     std::string(256, 'x'));
    Manifest manifest;
    manifest.entries = {entry(bad, 1)};
    REQUIRE(manifest.lay_out().ok());
    CHECK_FALSE(decode_manifest(encode_manifest(manifest)));
}

TEST_CASE("more bytes than blocks can count are an error, not a wrap") {
    Manifest manifest;
    manifest.entries = {entry("a", 1ULL << 51U), entry("b", 1ULL << 51U)};
    CHECK_FALSE(manifest.lay_out().ok());
    manifest.entries = {entry("a", ~0ULL)};
    CHECK_FALSE(manifest.lay_out().ok());
}

TEST_CASE("a manifest longer than a block shifts the files") {
    Manifest manifest;
    for (int i = 0; i < 30000; ++i) {
        manifest.entries.push_back(entry("file-" + std::to_string(i), 10));
    }
    REQUIRE(manifest.lay_out().ok());
    CHECK(manifest.own_block_count() == 3);
    CHECK_FALSE(find_block(manifest, BlockIndex{2}));
    REQUIRE(find_block(manifest, BlockIndex{3}));
    CHECK(find_block(manifest, BlockIndex{3})->entry == 0);
    CHECK(decode_manifest(encode_manifest(manifest)).ok());
}

}  // namespace stage
