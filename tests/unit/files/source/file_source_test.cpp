// Tests that a source returns the bytes of its files, or an error that says why not.
#include "stager/files/source/file_source.h"

#include "stager/disk/drop_behind.h"
#include "tests/unit/files/scratch.h"
#include "tests/unit/root.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using test::Scratch;

Result<std::unique_ptr<FileSource>> open_one(const std::string& path) {
    return FileSource::open({{.spec = 0, .path = path, .line = {}, .is_optional = false}}, 0);
}

/// Opens and reads all of it; returns the error message.
std::string reading(const std::string& path) {
    auto source = open_one(path);
    if (!source) {
        return source.error().sentence();
    }
    const auto blocks = test::blocks_of(**source);
    return blocks ? "ok" : blocks.error().sentence();
}

Result<SourceBlock> read_block(FileSource& source, std::uint32_t index) {
    static std::vector<std::byte> room(kBlockBytes);
    return source.read(BlockIndex{index}, room);
}

/// Sets the time; content and size stay.
void set_mtime(const std::string& path, time_t seconds) {
    const std::array times{timespec{seconds, 0}, timespec{seconds, 0}};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) == 0);
}

}  // namespace

TEST_CASE("of many files, one that was replaced before it is read is an error") {
    const Scratch from;
    std::vector<SourceOrder> orders;
    for (std::size_t i = 0; i < 200; ++i) {
        SourceOrder order;
        order.path = from.write("f" + std::to_string(i), "content");
        orders.push_back(order);
    }
    const auto source = FileSource::open(orders, 0);
    REQUIRE(source);
    from.write("new", "content");
    REQUIRE(::rename(from.path("new").c_str(), from.path("f190").c_str()) == 0);
    const auto blocks = test::blocks_of(**source);
    REQUIRE_FALSE(blocks);
    CHECK_THAT(blocks.error().sentence(), Contains("f190: changed while it was read"));
}

// FUSE without inode numbers of its own (ipfs, some of sshfs') gives a new one each time.
TEST_CASE("of many files, one has another inode number and the same content") {
    const Scratch from;
    std::vector<SourceOrder> orders;
    for (std::size_t i = 0; i < 200; ++i) {
        SourceOrder order;
        order.path = from.write("f" + std::to_string(i), "content");
        set_mtime(order.path, 1'000'000'000);
        orders.push_back(order);
    }
    const auto source = FileSource::open(orders, 0);
    REQUIRE(source);
    set_mtime(from.write("new", "content"), 1'000'000'000);
    REQUIRE(::rename(from.path("new").c_str(), from.path("f199").c_str()) == 0);
    CHECK(test::blocks_of(**source).ok());
}

TEST_CASE("an error of a list's file names the list and the line") {
    SourceOrder order;
    order.path = "/nowhere/x";
    order.where = "/list, line 3";
    const auto source = FileSource::open({order}, 0);
    REQUIRE_FALSE(source);
    CHECK_THAT(source.error().sentence(),
               Catch::StartsWith("/list, line 3: /nowhere/x: No such file"));
}

TEST_CASE("blocks of a source are its manifest and its files") {
    const Scratch scratch;
    const std::string content = test::noise(2 * kBlockBytes + 5);
    auto source = open_one(scratch.write("a", content));
    REQUIRE(source);
    const auto blocks = test::blocks_of(**source);
    REQUIRE(blocks);
    REQUIRE(blocks->size() == 4);
    const Result<Manifest> manifest = decode_manifest((*blocks)[0]);
    REQUIRE(manifest);
    CHECK(manifest->entries.at(0).name == "a");
    CHECK((*blocks)[3].size() == 5);
    CHECK((*source)->block_length(BlockIndex{3}) == 5);
    CHECK((*source)->finish().ok());
    CHECK((*source)->digest().size() == 32);
}

TEST_CASE("an error names the source and the reason") {
    const Scratch scratch;
    scratch.write("file", "x");
    REQUIRE(::mkfifo(scratch.path("pipe").c_str(), 0600) == 0);
    REQUIRE(::symlink("loop", scratch.path("loop").c_str()) == 0);

    CHECK_THAT(
        reading(scratch.path("absent")),
        Contains(scratch.path("absent") + ": No such file or directory; check the path"));
    CHECK_THAT(reading(scratch.path("pipe")), Contains("is a pipe"));
    CHECK_THAT(reading(scratch.path()), Contains(scratch.path("pipe") + ": is a pipe"));
    CHECK_THAT(reading("/dev/zero"), Contains("is a device"));
    CHECK_THAT(reading(scratch.path("file/below")), Contains("Not a directory"));
    CHECK_THAT(reading(scratch.path("loop")), Contains("symbolic links"));
    CHECK_THAT(reading("/proc/self/status"), Contains("does not report its size"));
}

TEST_CASE("a symbolic link that the user names is followed") {
    const Scratch scratch;
    scratch.write("file", "content");
    REQUIRE(::symlink("file", scratch.path("link").c_str()) == 0);
    auto source = open_one(scratch.path("link"));
    REQUIRE(source);
    CHECK((*source)->manifest().entries[0].name == "link");
    CHECK((*source)->manifest().file_bytes() == 7);
}

TEST_CASE("a file that the user may not read is not read", "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch scratch;
    const std::string path = scratch.write("secret", "x");
    REQUIRE(::chmod(scratch.path().c_str(), 0755) == 0);
    REQUIRE(::chmod(path.c_str(), 0600) == 0);
    CHECK_THAT(
        test::in_child([&] { return test::become_nobody() ? reading(path) : "still root"; }),
        Contains(path + ": Permission denied; give yourself read permission"));
}

TEST_CASE("a file that is truncated while it is read is reported by name") {
    const Scratch scratch;
    const std::string path = scratch.write("a", test::noise(4 * kBlockBytes));
    auto source = open_one(path);
    REQUIRE(source);
    REQUIRE(read_block(**source, 0));
    REQUIRE(read_block(**source, 1));
    REQUIRE(::truncate(path.c_str(), kBlockBytes) == 0);
    const auto block = read_block(**source, 2);
    REQUIRE_FALSE(block);
    CHECK_THAT(block.error().sentence(), Contains(path + ": changed while it was read"));
    CHECK(block.error().blame() == Blame::user);
}

TEST_CASE("the last block of a changed file is never returned") {
    const Scratch scratch;
    const std::string path = scratch.write("a", test::noise(2 * kBlockBytes));
    set_mtime(path, 1000);
    auto source = open_one(path);
    REQUIRE(source);
    REQUIRE(read_block(**source, 0));
    REQUIRE(read_block(**source, 1));
    SECTION("written to, size as before") {
        std::fstream{path, std::ios::in | std::ios::out}.write("changed", 7);
    }
    SECTION("grown") {
        std::ofstream{path, std::ios::app} << "more";
        set_mtime(path, 1000);
    }
    const auto block = read_block(**source, 2);
    REQUIRE_FALSE(block);
    CHECK_THAT(block.error().sentence(), Contains("changed while it was read"));
}

TEST_CASE("a second read returns the same bytes or an error, whatever the times") {
    const Scratch scratch;
    const std::string path = scratch.write("a", test::noise(2 * kBlockBytes));
    set_mtime(path, 1000);
    auto source = open_one(path);
    REQUIRE(source);
    REQUIRE(test::blocks_of(**source));
    CHECK(read_block(**source, 1).ok());
    std::fstream{path, std::ios::in | std::ios::out}.write("changed", 7);
    set_mtime(path, 1000);
    CHECK_FALSE(read_block(**source, 1).ok());
    CHECK(read_block(**source, 2).ok());
    CHECK(read_block(**source, 0).ok());
}

TEST_CASE("a file that is replaced while open is read as it was") {
    const Scratch scratch;
    const std::string content = test::noise(2 * kBlockBytes);
    const std::string path = scratch.write("a", content);
    auto source = open_one(path);
    REQUIRE(source);
    REQUIRE(::rename(scratch.write("b", "other").c_str(), path.c_str()) == 0);
    const auto blocks = test::blocks_of(**source);
    REQUIRE(blocks);
    CHECK(std::equal((*blocks)[1].begin(),
                     (*blocks)[1].end(),
                     as_bytes(content).first(kBlockBytes).begin()));
}

TEST_CASE("files share the limit of pages in memory") {
    const Scratch scratch;
    constexpr std::size_t kSize = 2 * DropBehind::kWindowBytes;
    const std::string bytes(kSize, 'x');
    const std::vector<SourceOrder> orders{
        {.spec = 0, .path = scratch.write("a", bytes), .line = {}},
        {.spec = 1, .path = scratch.write("b", bytes), .line = {}}};
    const UniqueFd first{::open(orders[0].path.c_str(), O_RDONLY | O_CLOEXEC)};
    const UniqueFd second{::open(orders[1].path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (test::is_on_tmpfs(first.get())) {
        WARN("the scratch directory is in memory: nothing can leave it");
        return;
    }
    const auto source = FileSource::open(orders, 0, {}, kSize);
    REQUIRE(source);
    std::vector<std::byte> room(kBlockBytes);
    for (std::uint32_t i = 0; i < (*source)->block_count(); ++i) {
        REQUIRE((*source)->read(BlockIndex{i}, room));
    }
    CHECK(test::resident(first.get(), 0, kSize) == kSize);
    CHECK(test::resident(second.get(), 0, kSize) <= DropBehind::kWindowBytes + kSize / 4);
}

TEST_CASE("MaxBytes is checked before any data") {
    const Scratch scratch;
    const std::vector<SourceOrder> orders{
        {.spec = 0, .path = scratch.write("a", test::noise(600)), .line = {}},
        {.spec = 1, .path = scratch.write("b", test::noise(600)), .line = {}}};
    CHECK(FileSource::open(orders, 1200).ok());
    const auto source = FileSource::open(orders, 1199);
    REQUIRE_FALSE(source);
    CHECK_THAT(source.error().sentence(), Contains("MaxBytes"));
}

TEST_CASE("an optional file that is missing becomes a note") {
    const Scratch scratch;
    const std::vector<SourceOrder> orders{
        {.spec = 0, .path = scratch.path("absent"), .line = {}, .is_optional = true},
        {.spec = 1, .path = scratch.write("b", "there"), .line = {}, .is_optional = false}};
    auto source = FileSource::open(orders, 0);
    REQUIRE(source);
    CHECK_THAT((*source)->manifest().entries[0].trouble, Contains("No such file"));
    CHECK_FALSE((*source)->identity(0));
    CHECK((*source)->identity(1));
    CHECK(test::blocks_of(**source).ok());
}

}  // namespace stage
