// Tests that an incomplete or damaged archive is refused by its own checksums, lengths or end.
#include "tests/unit/files/archives.h"
#include "tests/unit/files/unpacking.h"
#include "tests/unit/files/zips.h"

#include <catch2/catch.hpp>

#include <archive.h>
#include <archive_entry.h>
#include <zstd.h>

#include <array>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using test::content_of;
using test::Scratch;
using test::Tar;
using test::unpacking;

struct Packing {
    const char* name;
    int (*add)(archive*);
};
// zstd's of libarchive has no checksum.
constexpr std::array kPackings{Packing{"gzip", archive_write_add_filter_gzip},
                               Packing{"lz4", archive_write_add_filter_lz4},
                               Packing{"xz", archive_write_add_filter_xz},
                               Packing{"bzip2", archive_write_add_filter_bzip2}};

std::string packed(const std::string& bytes, int (*add)(archive*)) {
    std::string out(bytes.size() * 2 + 4096, '\0');
    std::size_t used = 0;
    archive* one = archive_write_new();
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, "x");
    archive_entry_set_filetype(entry, AE_IFREG);
    const bool is_well =
        archive_write_set_format_raw(one) == ARCHIVE_OK && add(one) == ARCHIVE_OK &&
        archive_write_set_bytes_in_last_block(one, 1) == ARCHIVE_OK &&
        archive_write_open_memory(one, out.data(), out.size(), &used) == ARCHIVE_OK &&
        archive_write_header(one, entry) == ARCHIVE_OK &&
        archive_write_data(one, bytes.data(), bytes.size()) ==
            static_cast<la_ssize_t>(bytes.size()) &&
        archive_write_close(one) == ARCHIVE_OK;
    archive_entry_free(entry);
    archive_write_free(one);
    REQUIRE(is_well);
    out.resize(used);
    return out;
}

std::string packed_by_zstd(const std::string& bytes) {
    std::string less(ZSTD_compressBound(bytes.size()), '\0');
    ZSTD_CCtx* context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    less.resize(ZSTD_compress2(context, less.data(), less.size(), bytes.data(), bytes.size()));
    ZSTD_freeCCtx(context);
    return less;
}

/// Text in many members, of which a decoder might not notice a changed bit.
std::string text() {
    std::string all;
    for (int i = 0; i < 30'000; ++i) {
        all += std::to_string(i) + '\n';
    }
    return all;
}

/// Checks that with any one bit wrong it is refused, or all content is unchanged.
void check_bits(const std::string& whole, const std::string& content) {
    const Scratch good;
    REQUIRE(unpacking(whole, good) == "ok");
    REQUIRE((content_of(good.path("t/f")) == content));
    std::size_t refused = 0;
    constexpr std::size_t kTries = 48;
    for (std::size_t i = 0; i < kTries; ++i) {
        // The last eight bytes, where the sums are, and places in all of it.
        const std::size_t at =
            i < 8 ? whole.size() - 1 - i : (whole.size() - 9) * (i - 8) / (kTries - 8);
        std::string bent = whole;
        bent[at] = static_cast<char>(bent[at] ^ (1 << static_cast<int>(i % 8)));
        const Scratch to;
        const std::string said = unpacking(bent, to);
        CAPTURE(at, said);
        if (said == "ok") {
            CHECK((content_of(to.path("t/f")) == content));
        } else {
            CHECK_THAT(said, Contains("x.tar: is "));
            CHECK(to.names().empty());
            ++refused;
        }
    }
    CHECK(refused > kTries * 3 / 4);
}

}  // namespace

TEST_CASE("an archive with one wrong bit is refused by its own checksums") {
    const std::string content = text();
    const std::string tar = Tar{}.file("f", content).bytes();
    SECTION("gzip, lz4, xz, bzip2") {
        for (const Packing& packing : kPackings) {
            CAPTURE(packing.name);
            check_bits(packed(tar, packing.add), content);
        }
    }
    SECTION("zstd") {
        check_bits(packed_by_zstd(tar), content);
    }
}

TEST_CASE("a wrong checksum is reported, wherever it is") {
    const std::string first = Tar{}.file("f", text()).unfinished();
    const std::string rest(20'480, '\0');
    const Scratch to;
    // The checksum of the last member, with only the end mark, is wrong; and of one after it.
    for (const std::string& tail : {rest, std::string(1 << 20U, '\0')}) {
        std::string two = packed(first, archive_write_add_filter_gzip) +
                          packed(tail, archive_write_add_filter_gzip);
        two[two.size() - 6] ^= 1;
        CHECK_THAT(
            unpacking(two, to),
            Contains("x.tar: is damaged or cut off") && Contains("gzip: incorrect data check"));
        std::string length = packed(first + tail, archive_write_add_filter_gzip);
        length[length.size() - 1] ^= 1;
        CHECK_THAT(unpacking(length, to), Contains("gzip: incorrect length check"));
        std::string lz4 = packed(first + tail, archive_write_add_filter_lz4);
        lz4[lz4.size() - 1] ^= 1;
        CHECK_THAT(unpacking(lz4, to), Contains("ERROR_contentChecksum_invalid"));
        CHECK_THAT(unpacking(lz4.substr(0, lz4.size() - 4), to),
                   Contains("lz4: unexpected end of file"));
        std::string xz = packed(first + tail, archive_write_add_filter_xz);
        CHECK_THAT(unpacking(xz.substr(0, xz.size() - 5), to), Contains("is damaged"));
        std::string gzip = packed(first + tail, archive_write_add_filter_gzip);
        CHECK_THAT(unpacking(gzip.substr(0, gzip.size() - 4), to),
                   Contains("gzip: unexpected end of file"));
    }
    CHECK(to.names().empty());
}

TEST_CASE("members, frames and nested compressions are all decompressed") {
    const std::string content = text();
    const std::string tar = Tar{}.file("f", content).bytes();
    const auto in_two = [&](auto pack) {
        return pack(tar.substr(0, 10'000)) + pack(tar.substr(10'000));
    };
    const auto gzip = [](const std::string& bytes) {
        return packed(bytes, archive_write_add_filter_gzip);
    };
    const auto lz4 = [](const std::string& bytes) {
        return packed(bytes, archive_write_add_filter_lz4);
    };
    // (A skippable frame, as pzstd writes it.)
    const std::string skipped{"\x50\x2a\x4d\x18\x04\0\0\0abcd", 12};
    for (const std::string& bytes :
         {in_two(gzip),
          in_two(lz4),
          in_two(packed_by_zstd),
          skipped + packed_by_zstd(tar),
          std::string{"\x50\x2a\x4d\x18\0\0\0\0", 8} + skipped + lz4(tar),
          skipped + lz4(tar) + skipped,
          gzip(tar) + std::string(512, '\0'),
          gzip(tar) + "a text behind it",
          packed_by_zstd(lz4(tar))}) {
        const Scratch to;
        CHECK(unpacking(bytes, to) == "ok");
        CHECK((content_of(to.path("t/f")) == content));
    }
    const Scratch to;
    CHECK_THAT(unpacking(gzip(gzip(gzip(tar))), to),
               Contains("can't be unpacked here (compressed more than 2 times)"));
}

TEST_CASE("a tar whose first name looks like a compressed file is a tar") {
    for (const char* const name : {"BZh9", "BZhang/data", "BZh91AY&S"}) {
        const Scratch to;
        CHECK(unpacking(Tar{}.file(name, "x").bytes(), to) == "ok");
        CHECK(content_of(to.path(std::string{"t/"} + name)) == "x");
    }
    const Scratch to;
    const std::string empty = packed("", archive_write_add_filter_bzip2);
    CHECK_THAT(unpacking(empty, to), Contains("is not an archive that can be unpacked"));
    const std::string tar = Tar{}.file("f", "x").bytes();
    CHECK(unpacking(empty + packed(tar, archive_write_add_filter_bzip2), to) == "ok");
}

TEST_CASE("a tar is complete if it has its end mark") {
    const std::string zeros(4096, '\0');
    Tar tar;
    tar.file("a", zeros).file("b", zeros);
    const std::string cut = tar.unfinished();
    const std::string behind_mark = cut + std::string(512, '\0');
    const auto gzip = [](const std::string& bytes) {
        return packed(bytes, archive_write_add_filter_gzip);
    };
    const Scratch to;
    for (const std::string& bytes : {cut, gzip(cut), packed_by_zstd(cut)}) {
        CHECK_THAT(unpacking(bytes, to),
                   Contains("x.tar: ends too early, the mark of a tar's end is missing"));
    }
    // As tar(1) does it: one block of zeros is enough, and nothing behind it matters.
    for (const std::string& bytes : {behind_mark,
                                     behind_mark + "\n",
                                     tar.bytes() + "a signature",
                                     tar.bytes() + std::string(9'000, 'x'),
                                     tar.bytes() + Tar{}.file("c", "").bytes(),
                                     gzip(behind_mark),
                                     gzip(tar.bytes() + "x")}) {
        const Scratch whole;
        CHECK(unpacking(bytes, whole) == "ok");
        CHECK(whole.names().size() == 2);
    }
    // The mark begins, or ends, at the border between two reads.
    for (const std::size_t size : {(256U << 10U) - 512, (256U << 10U) - 1024, 256U << 10U}) {
        const std::string fits = Tar{}.file("f", std::string(size, '\0')).unfinished();
        const Scratch whole;
        CHECK_THAT(unpacking(fits, whole), Contains("ends too early"));
        CHECK(unpacking(fits + std::string(512, '\0'), whole) == "ok");
        CHECK(unpacking(fits + std::string(1024, '\0'), whole) == "ok");
    }
    CHECK(to.names().empty());
}

TEST_CASE("a tar that is truncated after a header without an entry is not complete") {
    const Scratch to;
    const std::string global = Tar{}.other("pax_global_header", 'g').unfinished();
    const std::string volume = Tar{}.other("volume", 'V').unfinished();
    CHECK(unpacking(global, to) != "ok");
    CHECK(unpacking(volume, to) != "ok");
    CHECK(to.names().empty());
    CHECK(unpacking(volume + std::string(1024, '\0'), to) == "ok");
}

}  // namespace stage
