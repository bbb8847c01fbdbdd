// Tests that an archive can't make its decoders take as much memory as its headers name.
#include "tests/unit/files/archives.h"
#include "tests/unit/files/unpacking.h"
#include "tests/unit/files/zips.h"

#include <catch2/catch.hpp>

#include <lzma.h>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using test::content_of;
using test::Scratch;
using test::Tar;
using test::unpacking;
using test::Zip;

constexpr std::uint32_t kMebibyte = 1U << 20U;

std::string coded(const std::string& bytes, lzma_stream& state) {
    std::string out(bytes.size() + 4096, '\0');
    state.next_in = reinterpret_cast<const std::uint8_t*>(bytes.data());
    state.avail_in = bytes.size();
    state.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    state.avail_out = out.size();
    REQUIRE(::lzma_code(&state, LZMA_FINISH) == LZMA_STREAM_END);
    out.resize(out.size() - state.avail_out);
    ::lzma_end(&state);
    return out;
}

/// A stream of xz whose block names a dictionary of `dictionary` (xz-file-format.txt 5.3.1).
std::string by_xz(const std::string& bytes, unsigned char dictionary) {
    lzma_stream state = LZMA_STREAM_INIT;
    REQUIRE(::lzma_easy_encoder(&state, 0, LZMA_CHECK_CRC32) == LZMA_OK);
    std::string out = coded(bytes, state);
    constexpr std::size_t kBlock = 12;
    const std::size_t size = (static_cast<unsigned char>(out[kBlock]) + 1U) * 4 - 4;
    REQUIRE(out.substr(kBlock + 1, 3) == std::string("\0\x21\x01", 3));
    out[kBlock + 4] = static_cast<char>(dictionary);
    const auto* const head = reinterpret_cast<const std::uint8_t*>(&out[kBlock]);
    return out.replace(kBlock + size, 4, Zip::number(::lzma_crc32(head, size, 0), 4));
}

/// The data of a zip's entry by method 14 (APPNOTE.TXT 5.8.8).
std::string by_lzma(const std::string& bytes, std::uint32_t dictionary) {
    lzma_stream state = LZMA_STREAM_INIT;
    lzma_options_lzma options{};
    ::lzma_lzma_preset(&options, 0);
    REQUIRE(::lzma_alone_encoder(&state, &options) == LZMA_OK);
    const std::string alone = coded(bytes, state);
    return "\x09\x14" + Zip::number(5, 2) + alone[0] + Zip::number(dictionary, 4) +
           alone.substr(13);
}

std::string zip_of(const std::string& packed, unsigned method) {
    constexpr unsigned kHasEndMark = 2;
    return Zip{}
        .file("plain", "x")
        .file("f", "content", {.flags = kHasEndMark, .method = method, .packed = packed})
        .bytes();
}

constexpr unsigned char kXz128 = 30;  ///< 128 MiB.
constexpr unsigned char kXz256 = 32;
constexpr unsigned char kXz1024 = 36;
constexpr unsigned kLzma = 14;
constexpr unsigned kXz = 95;
constexpr unsigned kPpmd = 98;

}  // namespace

TEST_CASE("a decoder of xz takes a bounded amount of memory") {
    const std::string tar = Tar{}.file("f", "content").bytes();
    const Scratch to;
    REQUIRE(unpacking(by_xz(tar, kXz128), to) == "ok");
    CHECK(content_of(to.path("t/f")) == "content");
    const Scratch refused;
    for (const unsigned char dictionary : {kXz256, kXz1024}) {
        CHECK_THAT(unpacking(by_xz(tar, dictionary), refused),
                   Contains("can't be unpacked here") && Contains("xz: takes") &&
                       Contains("MiB of memory, more than 192"));
    }
    // In an inner layer, and in a later stream.
    CHECK_THAT(unpacking(by_xz(by_xz(tar, kXz1024), 0), refused), Contains("xz: takes"));
    const std::size_t half = 512;
    CHECK_THAT(
        unpacking(by_xz(tar.substr(0, half), 0) + by_xz(tar.substr(half), kXz1024), refused),
        Contains("xz: takes"));
    CHECK(refused.names().empty());
}

TEST_CASE("streams of xz with padding between them are one") {
    const std::string tar = Tar{}.file("f", "content").bytes();
    const Scratch to;
    const std::string two = by_xz(tar.substr(0, 700), 0) + std::string(8, '\0') +
                            by_xz(tar.substr(700), 0) + std::string(4, '\0');
    CHECK(unpacking(two, to) == "ok");
    CHECK(content_of(to.path("t/f")) == "content");
    const Scratch refused;
    CHECK_THAT(unpacking(two + "a text behind it", refused),
               Contains("xz: a checksum differs, or other bytes follow it"));
    CHECK_THAT(unpacking(two.substr(0, two.size() - 9), refused),
               Contains("xz: unexpected end of file"));
}

TEST_CASE("a frame of zstd with a window of gigabytes is refused") {
    // Magic, no checksum, window of 2 GiB; then one raw block, the last, of nothing.
    const std::string frame{"\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00", 9};
    const Scratch to;
    CHECK_THAT(unpacking(frame, to), Contains("can't be unpacked here") && Contains("memory"));
}

TEST_CASE("an entry of a zip takes a bounded amount of memory") {
    const Scratch to;
    REQUIRE(unpacking(zip_of(by_lzma("content", 16 * kMebibyte), kLzma), to) == "ok");
    CHECK(content_of(to.path("t/f")) == "content");
    const Scratch refused;
    for (const std::string& zip : {zip_of(by_lzma("content", 1024 * kMebibyte), kLzma),
                                   zip_of(by_lzma("content", ~0U), kLzma),
                                   zip_of(by_xz("content", 0), kXz),
                                   zip_of("\xff\x0f, 256 MiB", kPpmd)}) {
        CHECK_THAT(unpacking(zip, refused),
                   Contains("can't be unpacked here at or behind 'plain'") &&
                       Contains("may take more memory than 192 MiB"));
    }
    CHECK(refused.names().empty());
}

}  // namespace stage
