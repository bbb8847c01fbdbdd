// Tests that a directory is read as it was walked, or a change reported.
#include "stager/files/source/directory_listings.h"
#include "tests/unit/files/scratch.h"
#include "tests/unit/root.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using test::Scratch;
using test::Spec;

/// A tree with a file of 2.5 blocks between small ones.
void write_some(const Scratch& from) {
    from.write("t/a/small", "small");
    from.write("t/b/long", test::noise(5 * kBlockBytes / 2));
    from.write("t/c/last", "last");
}

}  // namespace

TEST_CASE("a member that can't be staged is reported before the first byte", "[root]") {
    const Scratch from;
    write_some(from);
    const auto opening = [&] {
        const auto source = FileSource::open(
            test::source_orders({{.source = from.path("t"), .root = "/", .below = "t"}}), 0);
        return source ? std::string{"ok"} : source.error().sentence();
    };
    REQUIRE(opening() == "ok");
    REQUIRE(::mkfifo(from.path("t/a/pipe").c_str(), 0600) == 0);
    CHECK_THAT(opening(), Contains(from.path("t/a/pipe") + ": is a pipe"));
    REQUIRE(::unlink(from.path("t/a/pipe").c_str()) == 0);
    if (!is_root()) {
        return;
    }
    REQUIRE(::chmod(from.path().c_str(), 0755) == 0);
    const auto opening_as_nobody = [&] {
        return test::in_child([&] { return test::become_nobody() ? opening() : "not here"; });
    };
    CHECK(opening_as_nobody() == "ok");
    REQUIRE(::chmod(from.path("t/a/small").c_str(), 0600) == 0);
    CHECK_THAT(opening_as_nobody(), Contains(from.path("t/a/small") + ": Permission denied"));
    REQUIRE(::chmod(from.path("t/a/small").c_str(), 0644) == 0);
    REQUIRE(::chmod(from.path("t/b").c_str(), 0700) == 0);
    CHECK_THAT(opening_as_nobody(), Contains(from.path("t/b") + ": Permission denied"));
    REQUIRE(::chmod(from.path("t/b").c_str(), 0744) == 0);
    CHECK_THAT(opening_as_nobody(), Contains(from.path("t/b") + ": Permission denied"));
}

TEST_CASE("a file that does not report its size is named, alone and in a tree") {
    for (const std::string path :
         {"/proc/sys/kernel/random/poolsize", "/proc/sys/kernel/random"}) {
        const auto source = FileSource::open(
            test::source_orders({{.source = path, .root = "/", .below = "t"}}), 0);
        REQUIRE_FALSE(source);
        CHECK_THAT(source.error().sentence(), Contains("/proc/sys/kernel/random/"));
        CHECK_THAT(source.error().sentence(), Contains("does not report its size"));
    }
    const Scratch from;
    from.write("t/empty", "");
    CHECK(FileSource::open(
        test::source_orders({{.source = from.path("t"), .root = "/", .below = "t"}}), 0));
}

TEST_CASE("a directory that changes after it was listed is found") {
    const Scratch from;
    write_some(from);
    TreeIndex index;
    for (const char* name : {"", "a", "b"}) {
        TreeNode node;
        node.name = name;
        REQUIRE(index.add(node));
    }
    TreeDirectories directories{index, UniqueFd{::open(from.path("t").c_str(), O_PATH)}};
    DirectoryListings listings;
    for (const std::uint32_t directory : {0U, 1U, 2U}) {
        REQUIRE(listings.begin(directory, directories.at(directory)));
    }
    CHECK_FALSE(listings.find_changed(directories));
    SECTION("a name came") {
        REQUIRE(::rename(from.path("t/c/last").c_str(), from.path("t/b/last").c_str()) == 0);
        CHECK(listings.find_changed(directories) == 2U);
    }
    SECTION("a name came and its time was set back") {
        const struct stat before = test::status_of(from.path("t/b"));
        from.write("t/b/more", "more");
        const std::array times{before.st_atim, before.st_mtim};
        REQUIRE(::utimensat(AT_FDCWD, from.path("t/b").c_str(), times.data(), 0) == 0);
        CHECK(listings.find_changed(directories) == 2U);
    }
    SECTION("it is elsewhere") {
        REQUIRE(::rename(from.path("t/b").c_str(), from.path("t/c/b").c_str()) == 0);
        CHECK(listings.find_changed(directories));
    }
}

TEST_CASE("a member that changes while the tree is read is named") {
    const Scratch from;
    write_some(from);
    const std::vector<Spec> specs{{.source = from.path("t"), .root = "/", .below = "t"}};
    auto source = FileSource::open(test::source_orders(specs), 0);
    REQUIRE(source);
    const std::string expected = from.path("t/b/long") + ": changed while it was read";
    SECTION("before it is read: another size") {
        from.write("t/b/long", "short");
    }
    SECTION("before it is read: another time") {
        const std::array times{timespec{1, 2}, timespec{1, 0}};
        REQUIRE(::utimensat(AT_FDCWD, from.path("t/b/long").c_str(), times.data(), 0) == 0);
    }
    SECTION("before it is read: gone") {
        REQUIRE(::unlink(from.path("t/b/long").c_str()) == 0);
    }
    SECTION("before it is read: a link now") {
        REQUIRE(::unlink(from.path("t/b/long").c_str()) == 0);
        REQUIRE(::symlink("../a/small", from.path("t/b/long").c_str()) == 0);
    }
    SECTION("its directory is a link now") {
        REQUIRE(::rename(from.path("t/b").c_str(), from.path("b").c_str()) == 0);
        REQUIRE(::symlink("../b", from.path("t/b").c_str()) == 0);
    }
    const auto blocks = test::blocks_of(**source);
    REQUIRE_FALSE(blocks);
    CHECK_THAT(blocks.error().sentence(), Contains(expected));
}

TEST_CASE("a member that changes between two reads of it is named") {
    const Scratch from;
    write_some(from);
    const std::vector<Spec> specs{{.source = from.path("t"), .root = "/", .below = "t"}};
    auto source = FileSource::open(test::source_orders(specs), 0);
    REQUIRE(source);
    const auto blocks = test::blocks_of(**source);
    REQUIRE(blocks);
    struct stat before {};
    REQUIRE(::stat(from.path("t/c/last").c_str(), &before) == 0);
    from.write("t/c/last", "tsal");
    const std::array times{before.st_atim, before.st_mtim};
    REQUIRE(::utimensat(AT_FDCWD, from.path("t/c/last").c_str(), times.data(), 0) == 0);
    std::vector<std::byte> room(kBlockBytes);
    const auto last = BlockIndex{static_cast<std::uint32_t>(blocks->size() - 1)};
    const auto again = (*source)->read(last, room);
    REQUIRE_FALSE(again);  // Noticed by its leaf digest: size and time are unchanged.
    CHECK_THAT(again.error().sentence(), Contains("changed while it was read"));
}

}  // namespace stage
