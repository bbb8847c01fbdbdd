// Tests which blocks of a partial file are copied into the cache.
#include "stager/cache/part_copy.h"

#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <span>

using namespace stage;
using test::content_of;
using test::noise;
using test::Scratch;

namespace {

constexpr std::size_t kSize = 4 * kBlockBytes + 9;
const auto anything = [](std::uint64_t) { return true; };

SourceStamp stamp_of(unsigned number) {
    return {static_cast<std::byte>(number)};
}
std::string block_of(const std::string& bytes, std::size_t block) {
    return bytes.substr(block * kBlockBytes, kBlockBytes);
}
Digest128 leaf_of(const std::string& bytes, std::size_t block) {
    const std::string text = block_of(bytes, block);
    return xxh3_128(std::as_bytes(std::span{text}));
}

/// A partial file with stamp_of 1 and these blocks, and a file to copy them to.
struct Broken {
    explicit Broken(std::initializer_list<std::size_t> blocks) : leaves(5) {
        std::string file(kSize, '\0');
        for (const std::size_t block : blocks) {
            leaves[block] = leaf_of(bytes, block);
            file.replace(block * kBlockBytes, kBlockBytes, block_of(bytes, block));
        }
        const auto note = encode_note(stamp_of(1), kSize, leaves);
        file.append(reinterpret_cast<const char*>(note.data()), note.size());
        from.reset(::open(scratch.write("from", file).c_str(), O_RDWR | O_CLOEXEC));
        to.reset(::open(scratch.write("to", "").c_str(), O_RDWR | O_CLOEXEC));
    }
    [[nodiscard]] Status copy(const MayWrite& may_write = anything,
                              unsigned number = 1,
                              std::uint64_t size = kSize) const {
        return copy_part(from.get(), to.get(), {stamp_of(number), size}, may_write);
    }
    [[nodiscard]] std::vector<Digest128> kept() const {
        return read_note(to.get(), stamp_of(1), kSize).value_or(std::vector<Digest128>{});
    }

    std::string bytes = noise(kSize);
    std::vector<Digest128> leaves;
    Scratch scratch;
    UniqueFd from;
    UniqueFd to;
};

}  // namespace

TEST_CASE("received blocks are kept, with a note, and take no more room") {
    const Broken broken{0, 2, 4};
    std::uint64_t asked = 0;
    REQUIRE(broken.copy([&](std::uint64_t bytes) { return (asked = bytes) > 0; }).ok());
    CHECK(asked == 2 * kBlockBytes + 9 + note_bytes(kSize));
    CHECK(broken.kept() == broken.leaves);
    const std::string kept = content_of(broken.scratch.path("to"));
    CHECK(kept.size() == part_bytes_max(kSize));
    for (const std::size_t block : {0U, 2U}) {
        CHECK(block_of(kept, block) == block_of(broken.bytes, block));
    }
    CHECK(block_of(kept, 1) == std::string(kBlockBytes, '\0'));
    struct stat status {};
    REQUIRE(::fstat(broken.to.get(), &status) == 0);
    CHECK(std::uint64_t(status.st_blocks) * 512 < 3 * kBlockBytes);
}

TEST_CASE("a block that does not match its note is not kept") {
    const Broken broken{0, 1, 2};
    REQUIRE(::pwrite(broken.from.get(), "!", 1, kBlockBytes + 5) == 1);
    REQUIRE(broken.copy().ok());
    std::vector<Digest128> right = broken.leaves;
    right[1] = {};
    CHECK(broken.kept() == right);
}

TEST_CASE("a file that is no partial file of that source is not kept") {
    const Broken broken{0, 1};
    const Broken empty{};
    CHECK(broken.copy(anything, 2).error().sentence() ==
          "the partial file has no valid note of its blocks");
    CHECK_FALSE(broken.copy(anything, 1, kSize - 1).ok());
    CHECK_FALSE(broken.copy(anything, 1, ~std::uint64_t{0}).ok());
    CHECK_FALSE(broken.copy(anything, 1, 0).ok());
    CHECK(empty.copy().error().sentence() == "the partial file has no valid block");
    const UniqueFd zeros{::open("/dev/zero", O_RDONLY | O_CLOEXEC)};
    CHECK_FALSE(copy_part(zeros.get(), broken.to.get(), {stamp_of(0), kSize}, anything).ok());
    CHECK(content_of(broken.scratch.path("to")).empty());
}

TEST_CASE("without room in the cache no more is written") {
    const Broken broken{0, 1, 2};
    REQUIRE_FALSE(broken.copy([](std::uint64_t bytes) { return bytes <= kBlockBytes; }).ok());
    CHECK(content_of(broken.scratch.path("to")).size() == kBlockBytes);
}
