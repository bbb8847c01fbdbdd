// Tests that a directory is read as it was walked, or a change reported.
#include "stager/files/source/directory_listings.h"
#include "stager/files/source/tree_walk.h"
#include "tests/unit/files/scratch.h"
#include "tests/unit/root.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using test::content_of;
using test::Scratch;
using test::Spec;

/// A tree with a file of 2.5 blocks between small ones.
void write_some(const Scratch& from) {
    from.write("t/a/small", "small");
    from.write("t/b/long", test::noise(5 * kBlockBytes / 2));
    from.write("t/c/last", "last");
}

/// Long ago, so that a walk does not hold it.
void age(const std::string& path, std::int64_t seconds = 1) {
    const std::array times{timespec{1, 2}, timespec{seconds, 0}};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) == 0);
}

/// The data of the tree that is the only file of an object with a short index.
std::string data_of(const std::vector<std::vector<std::byte>>& blocks) {
    std::string data;
    for (std::size_t i = 2; i < blocks.size(); ++i) {
        for (const std::byte one : blocks[i]) {
            data += static_cast<char>(one);
        }
    }
    return data;
}

void make_link(const std::string& text, const std::string& path) {
    REQUIRE(::symlink(text.c_str(), path.c_str()) == 0);
}

void listen_at(const std::string& path) {
    const UniqueFd socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    REQUIRE(path.size() < sizeof at.sun_path);
    std::ranges::copy(path, std::begin(at.sun_path));
    REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
}

/// The members of the tree in their order, or why it can't be walked.
std::string members(const std::string& path, const TreeChoice& choice) {
    const UniqueFd top{::open(path.c_str(), O_PATH | O_DIRECTORY)};
    const auto tree = walk_tree(top, path, choice);
    if (!tree) {
        return tree.error().sentence();
    }
    std::string all;
    for (std::uint32_t i = 1; i < tree->index.size(); ++i) {
        all += (i == 1 ? "" : " ") + tree->index.path(i);
    }
    return all;
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

TEST_CASE("a directory whose names change after it was listed is found") {
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
        REQUIRE(listings.list(directory, directories.at(directory)));
    }
    CHECK(listings.changed(directories).empty());
    SECTION("a name came") {
        REQUIRE(::rename(from.path("t/c/last").c_str(), from.path("t/b/last").c_str()) == 0);
        const auto changed = listings.changed(directories);
        REQUIRE(changed.size() == 1);
        CHECK(changed.front().directory == 2U);
        CHECK(changed.front().names == std::vector<std::string>{"last", "long"});
    }
    SECTION("a name came and its time was set back") {
        const struct stat before = test::status_of(from.path("t/b"));
        from.write("t/b/more", "more");
        const std::array times{before.st_atim, before.st_mtim};
        REQUIRE(::utimensat(AT_FDCWD, from.path("t/b").c_str(), times.data(), 0) == 0);
        CHECK(listings.changed(directories).size() == 1);
    }
    SECTION("only its times moved") {
        const std::array times{timespec{1, 2}, timespec{1, 0}};
        REQUIRE(::utimensat(AT_FDCWD, from.path("t/b").c_str(), times.data(), 0) == 0);
        CHECK(listings.changed(directories).empty());
    }
    SECTION("it is elsewhere") {
        REQUIRE(::rename(from.path("t/b").c_str(), from.path("t/c/b").c_str()) == 0);
        const auto changed = listings.changed(directories);
        REQUIRE(changed.size() == 1);
        CHECK(changed.front().directory == 0U);
        directories.forget();
        CHECK(listings.changed(directories).back().is_gone);
    }
}

TEST_CASE("a member that does not fit the walk any more is named") {
    const Scratch from;
    write_some(from);
    age(from.path("t/b/long"));
    const std::vector<Spec> specs{{.source = from.path("t"), .root = "/", .below = "t"}};
    auto source = FileSource::open(test::source_orders(specs), 0);
    REQUIRE(source);
    const std::string expected = from.path("t/b/long") + ": changed while it was read";
    SECTION("shorter") {
        from.write("t/b/long", "short");
    }
    SECTION("another file, and longer") {
        from.write("t/b/new", test::noise(3 * kBlockBytes, 2));
        REQUIRE(::rename(from.path("t/b/new").c_str(), from.path("t/b/long").c_str()) == 0);
    }
    SECTION("gone") {
        REQUIRE(::unlink(from.path("t/b/long").c_str()) == 0);
    }
    SECTION("a link now") {
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
    CHECK_THAT(blocks.error().sentence(), Contains("exclude=long"));
}

TEST_CASE("a member that changes after the walk, and fits it, is read") {
    const Scratch from;
    write_some(from);
    const std::string path = from.path("t/b/long");
    const std::string walked = content_of(path);
    std::string expected = walked;
    const std::vector<Spec> specs{{.source = from.path("t"), .root = "/", .below = "t"}};
    Result<std::unique_ptr<FileSource>> source{nullptr};
    const auto open = [&] {
        source = FileSource::open(test::source_orders(specs), 0);
        REQUIRE(source);
    };
    const auto replace = [&](std::size_t bytes) {
        from.write("t/b/.new", test::noise(bytes, 2));
        REQUIRE(::rename(from.path("t/b/.new").c_str(), path.c_str()) == 0);
    };
    SECTION("one that grows, at its earlier length") {
        open();
        std::ofstream{path, std::ios::app} << "more";
    }
    SECTION("one that is replaced by one as long, as it is now") {
        age(path);
        open();
        replace(walked.size());
        expected = content_of(path);
    }
    SECTION("one that was written to lately and is replaced, as it was") {
        open();
        replace(10);
    }
    SECTION("one that was written to lately and is gone, as it was") {
        open();
        REQUIRE(::unlink(path.c_str()) == 0);
    }
    SECTION("a small one that was written to lately and is written anew, as it was") {
        open();
        from.write("t/a/small", "else");
        from.write("t/c/last", "");
    }
    const auto blocks = test::blocks_of(**source);
    REQUIRE(blocks);
    CHECK((data_of(*blocks) == "small" + expected + "last"));
    // A retransmission finds the same bytes.
    std::vector<std::byte> room(kBlockBytes);
    CHECK((*source)->read(BlockIndex{2}, room));
}

TEST_CASE("a member that changes while it is read is read again") {
    const Scratch from;
    write_some(from);
    const std::string path = from.path("t/b/long");
    const std::string walked = content_of(path);
    age(path);
    const std::vector<Spec> specs{{.source = from.path("t"), .root = "/", .below = "t"}};
    auto source = FileSource::open(test::source_orders(specs), 0);
    REQUIRE(source);
    std::vector<std::vector<std::byte>> blocks;
    const auto read_up_to = [&](std::size_t count) -> Status {
        while (blocks.size() < count) {
            const BlockIndex next{static_cast<std::uint32_t>(blocks.size())};
            blocks.emplace_back((*source)->block_length(next));
            TRY((*source)->read(next, blocks.back()));
        }
        return {};
    };
    REQUIRE(read_up_to(4));  // Two of its blocks.
    SECTION("and counts if it only grew") {
        std::ofstream{path, std::ios::app} << "more";
        REQUIRE(read_up_to((*source)->block_count()));
        CHECK((data_of(blocks) == "small" + walked + "last"));
    }
    SECTION("and counts if only its times changed") {
        age(path, 2);
        CHECK(read_up_to((*source)->block_count()));
    }
    SECTION("and is named if a byte that was read is another one") {
        std::fstream{path, std::ios::in | std::ios::out}.write("changed", 7);
        std::ofstream{path, std::ios::app} << "more";
        const Status done = read_up_to((*source)->block_count());
        REQUIRE_FALSE(done);
        CHECK_THAT(done.error().sentence(), Contains(path + ": changed while it was read"));
    }
}

TEST_CASE("a member that is written anew, and longer, is no log that grew") {
    const Scratch from;
    write_some(from);
    const std::string path = from.path("t/b/long");
    const bool is_held = GENERATE(true, false);
    if (!is_held) {
        age(path);
    }
    const std::size_t bytes = content_of(path).size();
    const std::vector<Spec> specs{{.source = from.path("t"), .root = "/", .below = "t"}};
    auto source = FileSource::open(test::source_orders(specs), 0);
    REQUIRE(source);
    std::ofstream{path, std::ios::trunc} << test::noise(bytes + 100, 9);
    const auto blocks = test::blocks_of(**source);
    REQUIRE_FALSE(blocks);
    CHECK_THAT(blocks.error().sentence(), Contains(path + ": changed while it was read"));
}

TEST_CASE("trees hold members as far as their source has room") {
    const Scratch from;
    from.write("t/one", "0123456789");
    from.write("t/two", "0123456789");
    const UniqueFd top{::open(from.path("t").c_str(), O_PATH | O_DIRECTORY)};
    HeldRoom room{.bytes = 15, .files = 0};
    const auto tree = walk_tree(top, from.path("t"), {}, &room);
    REQUIRE(tree);
    CHECK(room.bytes == 5);
    CHECK((tree->held.find(1) == nullptr) != (tree->held.find(2) == nullptr));
    HeldRoom descriptors{.bytes = 0, .files = 1};
    REQUIRE(walk_tree(top, from.path("t"), {}, &descriptors));
    CHECK(descriptors.files == 0);
}

TEST_CASE("a member that changed is named, not one that is held in memory") {
    const Scratch from;
    from.write("t/held", "young");
    const std::string path = from.write("t/old", "content");
    age(path);
    const std::vector<Spec> specs{{.source = from.path("t"), .root = "/", .below = "t"}};
    auto source = FileSource::open(test::source_orders(specs), 0);
    REQUIRE(source);
    REQUIRE(test::blocks_of(**source));
    std::fstream{path, std::ios::in | std::ios::out}.write("CONTENT", 7);
    std::vector<std::byte> room(kBlockBytes);
    const auto again = (*source)->read(BlockIndex{2}, room);
    REQUIRE_FALSE(again);
    CHECK_THAT(again.error().sentence(), Contains(path + ": changed while it was read"));
    CHECK(again.error().blame() == Blame::user);
}

TEST_CASE("a file that was empty and has grown is no file of /proc") {
    const Scratch from;
    from.write("grown", "x");
    const UniqueFd file{::open(from.path("grown").c_str(), O_RDONLY | O_CLOEXEC)};
    CHECK(check_really_empty(file.get(), "grown"));
}

TEST_CASE("what is excluded, and sockets, are left out of a directory") {
    const Scratch from;
    for (const char* name : {"t/a.log", "t/b/a.log", "t/b/c", "t/d/e/f", "t/slurm-7_3.out"}) {
        from.write(name, "x");
    }
    listen_at(from.path("t/socket"));
    CHECK(members(from.path("t"), {}) == "a.log b d slurm-7_3.out b/a.log b/c d/e d/e/f");
    CHECK(members(from.path("t"), {.excludes = {"*.log", "e/"}}) == "b d slurm-7_3.out b/c");
    CHECK(members(from.path("t"), {.excludes = {"/a.log", "/b/c", "slurm-7_[0-9]*.out"}}) ==
          "b d b/a.log d/e d/e/f");
    const UniqueFd top{::open(from.path("t").c_str(), O_PATH | O_DIRECTORY)};
    const auto tree = walk_tree(top, from.path("t"));
    REQUIRE(tree);
    CHECK(tree->sockets.count == 1);
    CHECK(tree->sockets.first == from.path("t/socket"));
}

TEST_CASE("pipes are refused, or left out by choice") {
    const Scratch from;
    from.write("t/a", "x");
    REQUIRE(::mkfifo(from.path("t/pipe").c_str(), 0600) == 0);
    CHECK_THAT(members(from.path("t"), {}), Contains("is a pipe") && Contains("no-devices"));
    CHECK(members(from.path("t"), {.skips_devices = true}) == "a");
}

TEST_CASE("links that lead out of a directory are counted, or followed by choice") {
    const Scratch from;
    from.write("blobs/one", "content");
    from.write("blobs/more/two", "two");
    from.write("t/s/file", "x");
    make_link("../../blobs/one", from.path("t/s/out"));
    make_link(from.path("blobs/more"), from.path("t/s/outer"));
    make_link("../s/file", from.path("t/s/inner"));
    make_link("../../../nowhere", from.path("t/s/dangling"));
    const UniqueFd top{::open(from.path("t").c_str(), O_PATH | O_DIRECTORY)};
    const auto kept = walk_tree(top, from.path("t"));
    REQUIRE(kept);
    CHECK(kept->outward.count == 3);
    const auto followed = walk_tree(top, from.path("t"), {.follows_links = true});
    REQUIRE(followed);
    CHECK(followed->outward.count == 1);
    CHECK(members(from.path("t"), {.follows_links = true}) ==
          "s s/dangling s/file s/inner s/out s/outer s/outer/two");
    SourceOrder order{
        .spec = 0, .path = from.path("t"), .line = {}, .choice = {.follows_links = true}};
    auto source = FileSource::open({order}, 0);
    REQUIRE(source);
    const auto blocks = test::blocks_of(**source);
    REQUIRE(blocks);
    CHECK(data_of(*blocks) == "xcontenttwo");
    CHECK_THAT((*source)->remarks(), Contains("1 link out of the directory"));
}

TEST_CASE("a link to a directory that it is in is not followed without end") {
    const Scratch from;
    from.write("t/a", "x");
    SECTION("to the top") {
        make_link("../t", from.path("t/loop"));
        CHECK_THAT(members(from.path("t"), {.follows_links = true}),
                   Contains("is a link to a directory that it is in"));
    }
    SECTION("above it, where it is inside of what it leads to") {
        make_link("..", from.path("t/loop"));
        CHECK(members(from.path("t"), {.follows_links = true}) ==
              "a loop loop/t loop/t/a loop/t/loop");
    }
    CHECK(members(from.path("t"), {}) == "a loop");
}

TEST_CASE("a member that changes between two reads of it is named") {
    const Scratch from;
    write_some(from);
    age(from.path("t/c/last"));
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
