#include "stager/content/content.h"

#include "stager/content/source_stamp.h"
#include "tests/unit/files/scratch.h"
#include "transport/base/hex.h"

#include <catch2/catch.hpp>

#include <fcntl.h>

#include <span>

using namespace stage;

namespace {

Bytes bytes(const std::string& text) {
    return std::as_bytes(std::span{text});
}

}  // namespace

TEST_CASE("a content is its blocks in order, and how many bytes they have") {
    const std::string block = test::noise(kBlockBytes);
    ContentHasher whole;
    whole.add(bytes(block));
    whole.add(bytes("end"));
    ContentHasher again;
    again.add(bytes(block));
    again.add(bytes("end"));
    CHECK(whole.content() == again.content());
    ContentHasher other;
    other.add(bytes("end"));
    other.add(bytes(block));
    CHECK(whole.content().key != other.content().key);
    CHECK(whole.content().sum != other.content().sum);
    CHECK(whole.content().sum == sum_of({xxh3_128(bytes(block)), xxh3_128(bytes("end"))}));
}

TEST_CASE("the key is SHA-256 over label, size and the blocks' SHA-256") {
    ContentHasher hasher;
    hasher.add(bytes("abc"));
    // printf 'stagecast 1 content\0\0\0\0\0\0\0\3' and sha256("abc"), sha256sum of both
    CHECK(to_hex(hasher.content().key) ==
          "633f544ee1a6f6f536bd5d4bb70ca24ffc786b51c9e377fee4db854f479a7b37");
}

TEST_CASE("digits and bytes are distinguished") {
    std::array<std::byte, 3> three{};
    CHECK(from_hex("00ff7e", three));
    CHECK(to_hex(three) == "00ff7e");
    CHECK_FALSE(from_hex("00ff7", three));
    CHECK_FALSE(from_hex("00FF7e", three));
    CHECK_FALSE(content_of_bytes(bytes("too short")));
    ContentHasher hasher;
    hasher.add(bytes("x"));
    CHECK(content_of_bytes(bytes_of(hasher.content())) == hasher.content());
}

TEST_CASE("a stamp changes with the file's metadata, and a young file has none") {
    const test::Scratch scratch;
    const struct stat status = test::status_of(scratch.write("a", "abc"));
    const std::chrono::nanoseconds changed = std::chrono::seconds{status.st_ctim.tv_sec} +
                                             std::chrono::nanoseconds{status.st_ctim.tv_nsec};
    const auto later = changed + std::chrono::hours{1};
    const auto stamp = stamp_of("/a", status, later);
    REQUIRE(stamp);
    CHECK(stamp_of("/a", status, later + std::chrono::hours{1}) == stamp);
    CHECK(stamp_of("/b", status, later) != stamp);
    CHECK_FALSE(stamp_of("/a", status, changed + std::chrono::seconds{1}));
    struct stat other = status;
    ++other.st_ctim.tv_nsec;
    CHECK(stamp_of("/a", other, later) != stamp);
    other = status;
    --other.st_mtim.tv_sec;
    CHECK(stamp_of("/a", other, later) != stamp);
    other = status;
    ++other.st_size;
    CHECK(stamp_of("/a", other, later) != stamp);
    other = status;
    ++other.st_ino;
    CHECK(stamp_of("/a", other, later) != stamp);
    other = status;
    ++other.st_dev;  // Each node numbers its mounts by itself.
    CHECK(stamp_of("/a", other, later) == stamp);
}
