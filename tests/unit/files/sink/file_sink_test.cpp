// Tests that files arrive complete, unchanged, and only where they may.
#include "stager/files/sink/file_sink.h"

#include "tests/unit/files/archives.h"
#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using test::content_of;
using test::object_of;
using test::said;
using test::Scratch;
using test::Spec;
using test::status_of;
using test::Tar;
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("files of every size arrive as they were, whatever the order of blocks") {
    const auto seed = GENERATE(range(1U, 12U));
    CAPTURE(seed);
    const Scratch from;
    const Scratch to;
    const std::array<std::size_t, 7> sizes{
        0, 1, kBlockBytes - 1, kBlockBytes, kBlockBytes + 1, 0, 3 * kBlockBytes + 7};
    std::vector<Spec> specs;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::string name = "f" + std::to_string(i);
        const std::string path = from.write(name, test::noise(sizes[i], seed + i));
        REQUIRE(::chmod(path.c_str(), i % 2 == 0 ? 0640 : 0755) == 0);
        const std::array times{timespec{1, 2}, timespec{1234567890, 987654321}};
        REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) == 0);
        specs.push_back({.source = path, .root = to.path(), .below = "d/" + name});
    }
    REQUIRE(said(test::stage_all(specs, seed)) == "ok");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::string path = to.path(specs[i].below);
        CHECK(content_of(path) == content_of(specs[i].source));
        const struct stat status = status_of(path);
        CHECK((status.st_mode & 07777U) == (i % 2 == 0 ? 0640U : 0755U));
        CHECK(mtime_of(status) == FileTime{1234567890, 987654321});
    }
    CHECK(to.names().size() == sizes.size());
}

TEST_CASE("a file's holes stay holes and are not sent, its attributes and ACL go with it") {
    const Scratch from;
    const Scratch to;
    constexpr std::int64_t kSize = 64 * std::int64_t{kBlockBytes};
    const std::string path = from.write("holes", test::noise(5000));
    {
        const UniqueFd file{::open(path.c_str(), O_WRONLY)};
        REQUIRE(::ftruncate(file.get(), kSize) == 0);
        const std::string middle = test::noise(kBlockBytes + 70000, 2);
        REQUIRE(::pwrite(file.get(), middle.data(), middle.size(), kSize / 2) ==
                static_cast<ssize_t>(middle.size()));
    }
    const bool has_attributes = ::setxattr(path.c_str(), "user.of", "mine", 4, 0) == 0;
    const std::vector<Spec> specs{{.source = path, .root = to.path(), .below = "h"}};
    CHECK(object_of(specs).size() <= 1 + 3);  // The manifest, and the data extents.
    REQUIRE(said(test::stage_all(specs, 5)) == "ok");
    CHECK((content_of(to.path("h")) == content_of(path)));
    CHECK(status_of(to.path("h")).st_blocks * 512 <= 4 * std::int64_t{kBlockBytes});
    std::array<char, 8> value{};
    if (has_attributes) {
        CHECK(::getxattr(to.path("h").c_str(), "user.of", value.data(), value.size()) == 4);
        CHECK(std::string{value.data()} == "mine");
    }
    // Compared with one that is there, a hole is zeros and nothing else.
    std::vector<Spec> again{
        {.source = path, .root = to.path(), .below = "h", .existing = Existing::refuse}};
    CHECK(said(test::stage_all(again, 6)) == "ok");
    const UniqueFd there{::open(to.path("h").c_str(), O_WRONLY)};
    REQUIRE(::pwrite(there.get(), "!", 1, kSize / 4) == 1);
    CHECK_THAT(said(test::stage_all(again, 7)), Contains("exists already and differs"));
}

TEST_CASE("a file that is nothing but a hole, and one with a hole at its end") {
    const Scratch from;
    const Scratch to;
    const std::string empty = from.write("empty", "");
    const std::string tail = from.write("tail", test::noise(kBlockBytes + 9));
    REQUIRE(::truncate(empty.c_str(), 1 << 30U) == 0);
    REQUIRE(::truncate(tail.c_str(), 9 * std::int64_t{kBlockBytes}) == 0);
    const std::vector<Spec> specs{{.source = empty, .root = to.path(), .below = "e"},
                                  {.source = tail, .root = to.path(), .below = "t"}};
    CHECK(object_of(specs).size() == 1 + 2);
    REQUIRE(said(test::stage_all(specs)) == "ok");
    CHECK(status_of(to.path("e")).st_size == 1 << 30U);
    CHECK(status_of(to.path("e")).st_blocks == 0);
    CHECK((content_of(to.path("t")) == content_of(tail)));
}

TEST_CASE("until the manifest is here every other block is deferred, and nothing is kept") {
    const Scratch from;
    const Scratch to;
    const std::vector<Spec> specs{{.source = from.write("a", test::noise(kBlockBytes + 1)),
                                   .root = to.path(),
                                   .below = "a"}};
    const auto blocks = object_of(specs);
    FileSink sink{test::sink_config(specs)};
    CHECK(*test::put(sink, 2, blocks[2]) == Placing::deferred);
    CHECK_FALSE(sink.manifest());
    CHECK(*test::put(sink, 0, blocks[0]) == Placing::placed);
    CHECK(*test::put(sink, 2, blocks[2]) == Placing::placed);
    CHECK_FALSE(sink.finish().ok());
    CHECK(to.names() == Names{".a.stagecast.42.0"});
}

TEST_CASE("a manifest that is known beforehand takes the room; its blocks must agree") {
    const Scratch from;
    const Scratch to;
    const std::string path = from.write("x", test::noise(kBlockBytes + 5, 3));
    const std::vector<Spec> specs{{.source = path, .root = to.path(), .below = "x"}};
    const auto blocks = object_of(specs);
    FileSink sink{test::sink_config(specs)};
    REQUIRE(said(sink.expect(blocks[0])) == "ok");
    CHECK(sink.bytes_expected() == kBlockBytes + 5);
    CHECK(to.names().size() == 1);  // the temporary file
    auto forged = blocks[0];
    forged.back() ^= std::byte{1};
    CHECK_FALSE(test::put(sink, 0, forged).ok());
    forged.push_back(std::byte{0});
    CHECK_FALSE(test::put(sink, 0, forged).ok());
    for (std::uint32_t block : {2U, 0U, 1U}) {
        const auto placed = test::put(sink, block, blocks[block]);
        REQUIRE(placed);
        CHECK(*placed == Placing::placed);
    }
    REQUIRE(said(sink.finish()) == "ok");
    CHECK(content_of(to.path("x")) == content_of(path));
}

TEST_CASE("a finished file can be executed while its sink still serves it") {
    const Scratch from;
    const Scratch to;
    const std::vector<Spec> specs{
        {.source = from.write("tool", "#!/bin/sh\nexit 7\n"),
         .root = to.path(),
         .below = "tool"},
        {.source = from.write("none", "no user reads it"), .root = to.path(), .below = "none"}};
    REQUIRE(::chmod(specs[0].source.c_str(), 0755) == 0);
    REQUIRE(::chmod(specs[1].source.c_str(), 0) == 0);
    const auto blocks = test::object_of(specs);
    FileSink sink{test::sink_config(specs)};
    REQUIRE(said(test::deliver(blocks, sink, 1)) == "ok");
    CHECK(WEXITSTATUS(std::system(to.path("tool").c_str())) == 7);  // NOLINT: no threads here
    CHECK((status_of(to.path("none")).st_mode & 07777U) == 0);
    for (std::uint32_t i = 0; i < blocks.size(); ++i) {
        std::vector<std::byte> room(blocks[i].size());
        REQUIRE(said(sink.read_back(BlockIndex{i}, 0, room)) == "ok");
        CHECK(room == blocks[i]);
    }
}

TEST_CASE("a lack of space is reported before the first block") {
    const Scratch from;
    const Scratch to;
    const std::string path = from.write("x", "new");
    to.write("x", "there already");
    std::vector<Spec> specs{{.source = path, .root = to.path(), .below = "x"}};
    specs[0].existing = Existing::refuse;
    const auto blocks = object_of(specs);
    FileSink sink{test::sink_config(specs)};
    CHECK_THAT(said(sink.expect(blocks[0])), Contains("exists already"));
    FileSink garbled{test::sink_config(specs)};
    CHECK_FALSE(garbled.expect(Bytes{blocks[1]}).ok());
}

TEST_CASE("a node that allows fewer bytes refuses before the first block") {
    const Scratch from;
    const Scratch to;
    const std::vector<Spec> specs{
        {.source = from.write("a", test::noise(600)), .root = to.path(), .below = "a"},
        {.source = from.write("b", test::noise(600)), .root = to.path(), .below = "b"}};
    const auto blocks = object_of(specs);
    SinkConfig config = test::sink_config(specs);
    config.bytes_max = 1199;
    FileSink sink{config};
    const Status expected = sink.expect(blocks[0]);
    REQUIRE_FALSE(expected);
    CHECK_THAT(expected.error().sentence(), Contains("MaxBytes"));
    CHECK(to.names().empty());
    FileSink looking{config};
    CHECK_FALSE(looking.look(blocks[0]));
    config.bytes_max = 1200;
    FileSink allowing{config};
    CHECK(allowing.expect(blocks[0]));
}

TEST_CASE("an interrupted stage leaves nothing") {
    const Scratch from;
    const Scratch to;
    const std::vector<Spec> specs{{.source = from.write("a", test::noise(kBlockBytes + 1)),
                                   .root = to.path(),
                                   .below = "a"}};
    const auto blocks = object_of(specs);
    {
        FileSink sink{test::sink_config(specs)};
        REQUIRE(test::put(sink, 0, blocks[0]));
        REQUIRE(test::put(sink, 1, blocks[1]));
        CHECK(to.names().size() == 1);
    }
    CHECK(to.names().empty());
}

TEST_CASE("placed blocks are read back, before and after the end") {
    const Scratch from;
    const Scratch to;
    const std::vector<Spec> specs{{.source = from.write("a", test::noise(kBlockBytes + 9)),
                                   .root = to.path(),
                                   .below = "a"}};
    const auto blocks = object_of(specs);
    FileSink sink{test::sink_config(specs)};
    std::vector<std::byte> room(5);
    CHECK_FALSE(sink.read_back(BlockIndex{0}, 0, room).ok());
    REQUIRE(test::put(sink, 0, blocks[0]));
    CHECK_FALSE(sink.read_back(BlockIndex{2}, 0, room).ok());
    REQUIRE(test::put(sink, 2, blocks[2]));
    REQUIRE(sink.read_back(BlockIndex{2}, 4, room).ok());
    CHECK(std::equal(room.begin(), room.end(), blocks[2].begin() + 4));
    CHECK_FALSE(sink.read_back(BlockIndex{2}, 5, room).ok());
    CHECK_FALSE(sink.read_back(BlockIndex{3}, 0, room).ok());
    REQUIRE(test::put(sink, 1, blocks[1]));
    REQUIRE(said(sink.finish()) == "ok");
    std::vector<std::byte> whole(kBlockBytes);
    REQUIRE(sink.read_back(BlockIndex{1}, 0, whole).ok());
    CHECK(whole == blocks[1]);
    REQUIRE(sink.read_back(BlockIndex{0}, 3, room).ok());
    CHECK(std::equal(room.begin(), room.end(), blocks[0].begin() + 3));
}

TEST_CASE("a sink and its source report the same digest") {
    const Scratch from;
    const Scratch to;
    const std::vector<Spec> specs{{.source = from.write("a", test::noise(2 * kBlockBytes)),
                                   .root = to.path(),
                                   .below = "a"}};
    auto source = FileSource::open(test::source_orders(specs), 0);
    REQUIRE(source);
    const auto blocks = test::blocks_of(**source);
    REQUIRE(blocks);
    FileSink sink{test::sink_config(specs)};
    REQUIRE(said(test::deliver(*blocks, sink, 5)) == "ok");
    CHECK(sink.digest() == (*source)->digest());
    CHECK(sink.bytes_held() == 2 * kBlockBytes);
}

TEST_CASE("garbage instead of an object is an error, never a file") {
    const Scratch from;
    const Scratch to;
    const std::vector<Spec> specs{
        {.source = from.write("a", test::noise(kBlockBytes)), .root = to.path(), .below = "a"}};
    auto blocks = object_of(specs);
    FileSink sink{test::sink_config(specs)};
    SECTION("no manifest") {
        CHECK_FALSE(test::put(sink, 0, as_bytes(test::noise(100))).ok());
    }
    SECTION("a block of another length") {
        REQUIRE(test::put(sink, 0, blocks[0]));
        CHECK_FALSE(test::put(sink, 1, Bytes{blocks[1]}.first(7)).ok());
    }
    SECTION("a block beyond the end") {
        REQUIRE(test::put(sink, 0, blocks[0]));
        CHECK_FALSE(test::put(sink, 2, blocks[1]).ok());
    }
}

TEST_CASE("an optional file that fails is a warning; the others continue") {
    const Scratch from;
    const Scratch to;
    to.write("file", "x");
    const std::vector<Spec> specs{
        {.source = from.write("a", "aaa"),
         .root = to.path(),
         .below = "file/a",
         .is_optional = true},
        {.source = from.path("absent"), .root = to.path(), .below = "b", .is_optional = true},
        {.source = from.write("c", "ccc"), .root = to.path(), .below = "c"}};
    const auto blocks = object_of(specs);
    FileSink sink{test::sink_config(specs)};
    REQUIRE(said(test::deliver(blocks, sink, 1)) == "ok");
    CHECK(to.names() == Names{"c", "file"});
    REQUIRE(sink.warnings().size() == 2);
    CHECK(sink.path(0).empty());
    CHECK(sink.path(2) == to.path("c"));
}

TEST_CASE("a failure at a destination fails every later block") {
    const Scratch from;
    const Scratch to;
    to.write("differs", "another content");
    std::vector<Spec> specs{
        {.source = from.write("x.tar", Tar{}.file("a", test::noise(3 * kBlockBytes)).bytes()),
         .root = to.path(),
         .below = "t",
         .is_unpacked = true},
        {.source = from.write("f", test::noise(kBlockBytes)), .root = to.path(), .below = "g"},
        {.source = from.path("f"),
         .root = to.path(),
         .below = "differs",
         .existing = Existing::refuse}};
    const auto blocks = object_of(specs);
    FileSink sink{test::sink_config(specs)};
    for (std::uint32_t i = 0; i < blocks.size(); ++i) {
        const Result<Placing> placing = test::put(sink, i, blocks[i]);
        CAPTURE(i);
        REQUIRE_FALSE(placing);
        CHECK_THAT(placing.error().sentence(), Contains("/differs: exists already"));
    }
    CHECK_THAT(said(sink.finish()), Contains("/differs: exists already"));
    CHECK_FALSE(sink.holds_all());
}

TEST_CASE("two files for one place are refused before any data") {
    const Scratch from;
    const Scratch to;
    const std::vector<Spec> specs{
        {.source = from.write("a", "aaa"), .root = to.path(), .below = "x"},
        {.source = from.write("b", "bbb"), .root = to.path(), .below = "x"}};
    CHECK_THAT(said(test::stage_all(specs)), Contains("two files"));
    CHECK(to.names().empty());
}

TEST_CASE("the source's own file is left as it is") {
    const Scratch place;
    const std::string path = place.write("a", "content");
    const std::vector<Spec> specs{{.source = path, .root = place.path(), .below = "a"}};
    auto source = FileSource::open(test::source_orders(specs), 0);
    REQUIRE(source);
    const auto blocks = test::blocks_of(**source);
    REQUIRE(blocks);
    const ino_t before = status_of(path).st_ino;
    SinkConfig config = test::sink_config(specs);
    config.identity_of = [&](std::size_t index) { return (*source)->identity(index); };
    FileSink sink{std::move(config)};
    REQUIRE(said(test::deliver(*blocks, sink, 1)) == "ok");
    CHECK(status_of(path).st_ino == before);
    CHECK(place.names() == Names{"a"});
    std::vector<std::byte> room(3);
    CHECK_FALSE(sink.read_back(BlockIndex{1}, 0, room).ok());
}

}  // namespace stage
