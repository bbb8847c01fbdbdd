// Tests that a directory arrives complete, unchanged, and only where it may.
#include "stager/files/source/tree_walk.h"
#include "tests/unit/files/scratch.h"
#include "tests/unit/root.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/mount.h>
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
using Names = std::vector<std::string>;

void make_directory(const std::string& path, mode_t mode = 0755) {
    REQUIRE(::mkdir(path.c_str(), 0700) == 0);
    REQUIRE(::chmod(path.c_str(), mode) == 0);
}

void make_link(const std::string& text, const std::string& path) {
    REQUIRE(::symlink(text.c_str(), path.c_str()) == 0);
}

void date(const std::string& path, std::int64_t seconds) {
    const std::array times{timespec{1, 2}, timespec{seconds, 987654321}};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) == 0);
}

/// Describes every name, mode, time, size, hole, link and attribute in the tree.
std::vector<std::byte> walked(const std::string& path) {
    const UniqueFd top{::open(path.c_str(), O_PATH | O_DIRECTORY)};
    const Result<WalkedTree> tree = walk_tree(top, path);
    REQUIRE(tree);
    return {tree->index.bytes().begin(), tree->index.bytes().end()};
}

/// Checks that both paths have one tree, content and all.
void check_same(const std::string& one, const std::string& other) {
    const std::vector<std::byte> index = walked(one);
    CHECK(index == walked(other));
    const Result<TreeIndex> tree = TreeIndex::decode(index);
    REQUIRE(tree);
    for (std::uint32_t i = 0; i < tree->size(); ++i) {
        if (tree->node(i).is_file()) {
            const std::string path = tree->path(i);
            CHECK((content_of(one + '/' + path) == content_of(other + '/' + path)));
        }
    }
}

std::string staging(const std::string& from, const std::string& root, Existing existing) {
    return said(
        test::stage_all({{.source = from, .root = root, .below = "t", .existing = existing}}));
}

/// A tree with a file of 2.5 blocks between small ones.
void write_tree(const Scratch& from) {
    from.write("t/a/small", "small");
    from.write("t/b/long", test::noise(5 * kBlockBytes / 2));
    from.write("t/c/last", "last");
}

}  // namespace

TEST_CASE("a tree arrives as it was, whatever the order of blocks") {
    const auto seed = GENERATE(range(1U, 6U));
    CAPTURE(seed);
    const Scratch from;
    const Scratch to;
    from.write("t/empty", "");
    from.write("t/d/small", "content");
    from.write("t/d/long", test::noise(2 * kBlockBytes + 17, seed));
    from.write("t/d/e/f/deep", test::noise(kBlockBytes, seed));
    make_directory(from.path("t/nothing"), 0700);
    make_directory(from.path("t/tight"), 0500);
    make_link("d/small", from.path("t/link"));
    make_link("/no/where/at/all", from.path("t/dangling"));
    make_link("../../..", from.path("t/d/up"));
    REQUIRE(::link(from.path("t/d/long").c_str(), from.path("t/d/e/again").c_str()) == 0);
    REQUIRE(::link(from.path("t/empty").c_str(), from.path("t/zero").c_str()) == 0);
    REQUIRE(::chmod(from.path("t/d/small").c_str(), 0604) == 0);
    for (const char* path : {"t/d/small", "t/link", "t/d/e/f", "t/tight", "t/d", "t"}) {
        date(from.path(path), 1234567890);
    }
    REQUIRE(said(test::stage_all(
                {{.source = from.path("t"), .root = to.path(), .below = "x/copy"}}, seed)) ==
            "ok");
    check_same(from.path("t"), to.path("x/copy"));
    CHECK(status_of(to.path("x/copy/d/long")).st_ino ==
          status_of(to.path("x/copy/d/e/again")).st_ino);
    CHECK(mtime_of(status_of(to.path("x/copy"))) == FileTime{1234567890, 987654321});
    CHECK(mtime_of(status_of(to.path("x/copy/link"))) == FileTime{1234567890, 987654321});
}

TEST_CASE("names of any bytes, and of 255") {
    const Scratch from;
    const Scratch to;
    for (unsigned c = 1; c < 256; ++c) {
        const std::string name(1, static_cast<char>(c));
        if (name != "/" && name != ".") {
            from.write("t/" + name, name);
            from.write("t/dir" + name + "/x", name);
        }
    }
    from.write("t/" + std::string(255, '\xfe'), "long");
    REQUIRE(staging(from.path("t"), to.path(), Existing::refuse) == "ok");
    check_same(from.path("t"), to.path("t"));
}

TEST_CASE("many small files share their blocks") {
    const Scratch from;
    const Scratch to;
    constexpr int kFiles = 5000;
    for (int i = 0; i < kFiles; ++i) {
        from.write("t/" + std::to_string(i % 7) + '/' + std::to_string(i),
                   test::noise(static_cast<std::size_t>(i % 300), 1U + unsigned(i)));
    }
    const std::vector<Spec> specs{{.source = from.path("t"), .root = to.path(), .below = "t"}};
    CHECK(object_of(specs).size() == 3);  // Manifest, index, data.
    REQUIRE(said(test::stage_all(specs)) == "ok");
    check_same(from.path("t"), to.path("t"));
}

TEST_CASE("holes stay holes, and are not sent") {
    const Scratch from;
    const Scratch to;
    const std::string path = from.write("t/holes", "begin");
    REQUIRE(::truncate(path.c_str(), 64 * std::int64_t{kBlockBytes}) == 0);
    const UniqueFd file{::open(path.c_str(), O_WRONLY)};
    REQUIRE(::pwrite(file.get(), "middle", 6, 33 * std::int64_t{kBlockBytes}) == 6);
    REQUIRE(::truncate(from.write("t/nothing", "").c_str(), 12345678) == 0);
    const std::vector<Spec> specs{{.source = from.path("t"), .root = to.path(), .below = "t"}};
    auto source = FileSource::open(test::source_orders(specs), kBlockBytes);
    REQUIRE(source);  // Only the sent bytes are compared, not the holes.
    CHECK((*source)->manifest().file_bytes() < kBlockBytes);
    REQUIRE(said(test::stage_all(specs)) == "ok");
    check_same(from.path("t"), to.path("t"));
    CHECK(status_of(to.path("t/holes")).st_blocks < 1024);
    CHECK(status_of(to.path("t/nothing")).st_size == 12345678);
}

TEST_CASE("an interrupted tree leaves nothing") {
    const Scratch from;
    const Scratch to;
    write_tree(from);
    make_directory(from.path("t/tight"), 0500);
    const std::vector<Spec> specs{{.source = from.path("t"), .root = to.path(), .below = "t"}};
    const auto blocks = object_of(specs);
    {
        FileSink sink{test::sink_config(specs)};
        for (std::uint32_t i = 0; i + 1 < blocks.size(); ++i) {
            REQUIRE(test::put(sink, i, blocks[i]));
        }
        CHECK_FALSE(sink.finish().ok());
        CHECK_FALSE(to.names().empty());
        CHECK(::access(to.path("t").c_str(), F_OK) != 0);
    }
    CHECK(::rmdir(to.path().c_str()) == 0);
}

TEST_CASE("data are deferred until the index is here; all is read back") {
    const Scratch from;
    const Scratch to;
    write_tree(from);
    const std::vector<Spec> specs{{.source = from.path("t"), .root = to.path(), .below = "t"}};
    const auto blocks = object_of(specs);
    REQUIRE(blocks.size() == 5);
    FileSink sink{test::sink_config(specs)};
    CHECK(*test::put(sink, 0, blocks[0]) == Placing::placed);
    CHECK(*test::put(sink, 3, blocks[3]) == Placing::deferred);
    std::vector<std::byte> room(blocks[3].size());
    CHECK_FALSE(sink.read_back(BlockIndex{3}, 0, room).ok());
    CHECK(*test::put(sink, 1, blocks[1]) == Placing::placed);
    for (const std::uint32_t i : {3U, 2U, 4U}) {
        CHECK(*test::put(sink, i, blocks[i]) == Placing::placed);
    }
    const auto check_back = [&] {
        for (std::uint32_t i = 0; i < blocks.size(); ++i) {
            std::vector<std::byte> back(blocks[i].size());
            REQUIRE(said(sink.read_back(BlockIndex{i}, 0, back)) == "ok");
            CHECK((back == blocks[i]));
            std::vector<std::byte> part(1);
            const auto last = static_cast<std::uint32_t>(blocks[i].size() - 1);
            REQUIRE(said(sink.read_back(BlockIndex{i}, last, part)) == "ok");
            CHECK(part[0] == blocks[i].back());
        }
    };
    check_back();
    REQUIRE(said(sink.finish()) == "ok");
    check_back();
}

TEST_CASE("an existing destination decides") {
    const Scratch from;
    const Scratch to;
    write_tree(from);
    to.write("t/old/file", "old");
    CHECK_THAT(staging(from.path("t"), to.path(), Existing::refuse),
               Contains(to.path("t") + ": exists already; remove it, or add keep"));
    CHECK(to.names() == Names{"t/old/file"});
    CHECK(staging(from.path("t"), to.path(), Existing::keep) == "ok");
    CHECK(to.names() == Names{"t/old/file"});
    for (const char* path : {"t/old/file", "t/old", "t"}) {
        date(to.path(path), 1);
    }
    date(to.path("t/old/file"), 4'000'000'000);  // Newer than every member of the source.
    CHECK(staging(from.path("t"), to.path(), Existing::newer) == "ok");
    CHECK(to.names() == Names{"t/old/file"});
    date(to.path("t/old/file"), 1);
    CHECK(staging(from.path("t"), to.path(), Existing::newer) == "ok");
    check_same(from.path("t"), to.path("t"));
    to.write("t/foreign", "x");
    CHECK(staging(from.path("t"), to.path(), Existing::overwrite) == "ok");
    check_same(from.path("t"), to.path("t"));
    REQUIRE(::rename(to.path("t").c_str(), to.path("away").c_str()) == 0);
    to.write("t", "a file");
    CHECK(staging(from.path("t"), to.path(), Existing::overwrite) == "ok");
    check_same(from.path("t"), to.path("t"));
    CHECK(to.names().size() == 6);  // No more than two copies of three files.
}

TEST_CASE("newer replaces a tree from before 1970 by a later one") {
    const Scratch from;
    const Scratch to;
    constexpr std::int64_t kYear = -365 * 86'400;
    from.write("t/file", "new");
    to.write("t/file", "old");
    for (const char* path : {"t/file", "t"}) {
        date(from.path(path), 10 * kYear);
        date(to.path(path), 20 * kYear);
    }
    CHECK(staging(from.path("t"), to.path(), Existing::newer) == "ok");
    check_same(from.path("t"), to.path("t"));
}

TEST_CASE("what keep and newer leave is a directory, or a link to one") {
    const Scratch from;
    const Scratch to;
    from.write("t/file", "new");
    const auto existing = GENERATE(Existing::keep, Existing::newer);
    const auto refused = [&] {
        return Contains(
            "/t: exists already, and is neither a directory nor a link to one; remove");
    };
    for (const char* path : {"t/file", "t"}) {
        date(from.path(path), 1000);
    }
    SECTION("a file") {
        to.write("t", "a file");
        CHECK_THAT(staging(from.path("t"), to.path(), existing), refused());
        CHECK(content_of(to.path("t")) == "a file");
    }
    SECTION("a link to nothing") {
        make_link("nothing", to.path("t"));
        CHECK_THAT(staging(from.path("t"), to.path(), existing), refused());
    }
    SECTION("a link to a directory") {
        to.write("other/file", "x");
        make_link("other", to.path("t"));
        CHECK(staging(from.path("t"), to.path(), existing) == "ok");
        CHECK(to.names() == Names{"other/file", "t"});
    }
}

TEST_CASE("a link at the destination is replaced, not followed") {
    const Scratch from;
    const Scratch to;
    const Scratch elsewhere;
    write_tree(from);
    elsewhere.write("kept", "x");
    make_link(elsewhere.path(), to.path("t"));
    REQUIRE(staging(from.path("t"), to.path(), Existing::overwrite) == "ok");
    check_same(from.path("t"), to.path("t"));
    CHECK(elsewhere.names() == Names{"kept"});
}

TEST_CASE("a directory of an overlay's lower layer is replaced", "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch from;
    write_tree(from);
    const Scratch scratch;
    const std::string below = scratch.path("below");
    const std::string answer = test::in_child([&]() -> std::string {
        if (!test::mount_small(below, 32U << 20U)) {
            return "no overlay";
        }
        for (const char* name :
             {"/lower", "/lower/t", "/lower/t/old", "/upper", "/work", "/shown"}) {
            if (::mkdir((below + name).c_str(), 0755) != 0) {
                return "no directory";
            }
        }
        const std::string layers = "lowerdir=" + below + "/lower,upperdir=" + below +
                                   "/upper,workdir=" + below + "/work";
        if (::mount("shown", (below + "/shown").c_str(), "overlay", 0, layers.c_str()) != 0) {
            return "no overlay";
        }
        const std::string done = staging(from.path("t"), below + "/shown", Existing::overwrite);
        const bool is_replaced = ::access((below + "/shown/t/old").c_str(), F_OK) != 0 &&
                                 ::access((below + "/shown/t/a/small").c_str(), F_OK) == 0;
        return done + (is_replaced ? ", replaced" : "");
    });
    if (answer == "no overlay") {
        WARN("skipped: this kernel, or this file system, makes no overlay");
        return;
    }
    CHECK(answer == "ok, replaced");
}

TEST_CASE("a source is not staged over itself, nor over what it lies in") {
    const Scratch place;
    write_tree(place);
    const std::vector<Spec> same{
        {.source = place.path("t"), .root = place.path(), .below = "t"}};
    const std::vector<Spec> around{
        {.source = place.path("t/b"), .root = place.path(), .below = "t"}};
    const auto stage = [](const std::vector<Spec>& specs) {
        auto source = FileSource::open(test::source_orders(specs), 0);
        REQUIRE(source);
        const auto blocks = test::blocks_of(**source);
        REQUIRE(blocks);
        SinkConfig config = test::sink_config(specs);
        config.identity_of = [&](std::size_t index) { return (*source)->identity(index); };
        config.above = [&](std::size_t index) { return (*source)->above(index); };
        FileSink sink{std::move(config)};
        return said(test::deliver(*blocks, sink, 1));
    };
    CHECK(stage(same) == "ok");
    CHECK_THAT(stage(around), Contains("the source lies in it"));
    CHECK(place.names() == Names{"t/a/small", "t/b/long", "t/c/last"});
}

TEST_CASE("a killed worker's leftover is replaced, another user's name is not") {
    const Scratch from;
    const Scratch to;
    write_tree(from);
    to.write(".t.stagecast.42.0/a/b", "leftover");
    CHECK(staging(from.path("t"), to.path(), Existing::overwrite) == "ok");
    check_same(from.path("t"), to.path("t"));
    to.write(".t.stagecast.42.1", "a neighbour");
    CHECK_THAT(staging(from.path("t"), to.path(), Existing::overwrite),
               Contains("file system that other nodes of the job share"));
}

TEST_CASE("setuid bits stay with the owner, others lose them", "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch from;
    const Scratch to;
    from.write("t/program", "x");
    REQUIRE(::chmod(from.path("t/program").c_str(), 06755) == 0);
    REQUIRE(::chmod(from.path().c_str(), 0755) == 0);
    REQUIRE(::chmod(to.path().c_str(), 0777) == 0);
    const auto stage_as_nobody = [&] {
        return test::become_nobody() ? staging(from.path("t"), to.path(), Existing::refuse)
                                     : "not here";
    };
    REQUIRE(test::in_child(stage_as_nobody) == "ok");
    CHECK((status_of(to.path("t/program")).st_mode & 07777U) == 0755U);
    REQUIRE(::chmod(to.path().c_str(), 0755) == 0);
    CHECK(staging(from.path("t"), to.path(), Existing::overwrite) == "ok");
    CHECK((status_of(to.path("t/program")).st_mode & 07777U) == 06755U);
}

TEST_CASE(
    "another user's tree in an open directory is neither left, nor measured, nor replaced",
    "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch from;
    const Scratch to;
    from.write("t/file", "mine");
    to.write("t/file", "another's");
    REQUIRE(::chown(to.path("t").c_str(), 4242, 4242) == 0);
    REQUIRE(::chmod(to.path().c_str(), 01777) == 0);
    for (const Existing existing :
         {Existing::refuse, Existing::keep, Existing::newer, Existing::overwrite}) {
        CHECK_THAT(staging(from.path("t"), to.path(), existing),
                   Contains("/t: belongs to uid 4242, in a world-writable directory"));
    }
    REQUIRE(::chown(to.path("t").c_str(), 0, 0) == 0);
    REQUIRE(::chmod(to.path("t").c_str(), 0777) == 0);
    CHECK_THAT(staging(from.path("t"), to.path(), Existing::keep),
               Contains("/t: is world-writable"));
    CHECK(staging(from.path("t"), to.path(), Existing::overwrite) == "ok");
    CHECK(content_of(to.path("t/file")) == "mine");
}

TEST_CASE("attributes and ACLs are kept where the file system has them") {
    const Scratch from;
    const Scratch to;
    const std::string path = from.write("t/file", "x");
    // user::rw- user:65534:rwx group::--- mask::rwx other::---
    const std::array<unsigned char, 44> acl{
        2, 0,   0,   0,   1,   0,   6,  0, 255, 255, 255, 255, 2,   0,  7,
        0, 254, 255, 0,   0,   4,   0,  0, 0,   255, 255, 255, 255, 16, 0,
        7, 0,   255, 255, 255, 255, 32, 0, 0,   0,   255, 255, 255, 255};
    if (::setxattr(path.c_str(), "system.posix_acl_access", acl.data(), acl.size(), 0) != 0) {
        WARN("this file system has no ACLs");
        return;
    }
    const bool has_user = ::setxattr(path.c_str(), "user.colour", "red", 3, 0) == 0;
    REQUIRE(staging(from.path("t"), to.path(), Existing::refuse) == "ok");
    check_same(from.path("t"), to.path("t"));
    std::array<char, 64> room{};
    CHECK(::getxattr(to.path("t/file").c_str(), "user.colour", room.data(), room.size()) ==
          (has_user ? 3 : -1));
    CHECK((status_of(to.path("t/file")).st_mode & 0777U) == 0670U);
}

TEST_CASE("inherited group and ACL are not kept on a tree", "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch from;
    const Scratch to;
    from.write("t/a/file", "x");
    REQUIRE(::chown(to.path().c_str(), 0, 4242) == 0);
    REQUIRE(::chmod(to.path().c_str(), 02755) == 0);
    REQUIRE(staging(from.path("t"), to.path(), Existing::refuse) == "ok");
    check_same(from.path("t"), to.path("t"));
}

TEST_CASE("space is checked before anything is made", "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch from;
    const Scratch to;
    for (int i = 0; i < 200; ++i) {  // 200 bytes, 200 pages of a disk.
        from.write("t/" + std::to_string(i), "x");
    }
    const std::string said_so = test::in_child([&]() -> std::string {
        if (!test::mount_small(to.path("small"), 100 * 4096)) {
            return "not here";
        }
        const std::string result = staging(from.path("t"), to.path("small"), Existing::refuse);
        return ::rmdir(to.path("small/.t.stagecast.42.0").c_str()) == 0 ? "it was made"
                                                                        : result;
    });
    CHECK_THAT(said_so, Contains("No space left on device") && Contains("are needed and"));
}

}  // namespace stage
