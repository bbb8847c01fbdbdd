// Tests that several threads make the same tree as one, and report failures.
#include "stager/files/tree/tree_writer.h"

#include "tests/unit/files/scratch.h"
#include "tests/unit/root.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using test::content_of;
using test::said;
using test::Scratch;
using test::status_of;

constexpr std::uint32_t kDirectories = 7;
constexpr std::uint32_t kFilesInEach = 90;

TreeNode node(TreeKind kind, std::uint32_t parent, const std::string& name, mode_t mode) {
    TreeNode made;
    made.kind = kind;
    made.parent = parent;
    made.name = name;
    made.mode = static_cast<std::uint16_t>(mode);
    made.uid = ::geteuid();
    made.gid = ::getegid();
    made.mtime = {1234567890, 5};
    return made;
}

/// A file below the top, of that many bytes.
std::string name_of(std::uint32_t directory, std::uint32_t file) {
    return "d" + std::to_string(directory) + "/f" + std::to_string(100 + file);
}
std::size_t bytes_of(std::uint32_t directory, std::uint32_t file) {
    return (directory * 131 + file * 17) % 400;  // Some are empty.
}
std::string content(std::uint32_t directory, std::uint32_t file) {
    return test::noise(bytes_of(directory, file), 1 + directory * kFilesInEach + file);
}

TreeIndex some_tree() {
    TreeIndex index;
    REQUIRE(index.add(node(TreeKind::directory, 0, "", 0755)));
    for (std::uint32_t i = 0; i < kDirectories; ++i) {
        REQUIRE(index.add(node(TreeKind::directory, 0, "d" + std::to_string(i), 0750)));
    }
    for (std::uint32_t i = 0; i < kDirectories; ++i) {
        for (std::uint32_t j = 0; j < kFilesInEach; ++j) {
            TreeNode file = node(
                TreeKind::file, 1 + i, "f" + std::to_string(100 + j), j % 2 == 0 ? 0640 : 0777);
            file.size = bytes_of(i, j);
            REQUIRE(index.add(file));
        }
    }
    return index;
}

std::string data_of_tree() {
    std::string data;
    for (std::uint32_t i = 0; i < kDirectories; ++i) {
        for (std::uint32_t j = 0; j < kFilesInEach; ++j) {
            data += content(i, j);
        }
    }
    return data;
}

UniqueFd opened(const std::string& path) {
    return UniqueFd{::open(path.c_str(), O_PATH | O_DIRECTORY)};
}

/// Writes the tree to `at`, in two halves of its data; "ok" if that succeeds.
std::string made(const std::string& at, unsigned threads) {
    const TreeIndex index = some_tree();
    const std::string data = data_of_tree();
    TreeWriter writer{index, opened(at), "/t", kAllPages, threads};
    if (Status done = writer.make_directories(); !done) {
        return said(done);
    }
    const std::size_t half = data.size() / 2;
    for (const auto& [begin, end] : {std::pair{half, data.size()}, std::pair{0UL, half}}) {
        const std::string_view part = std::string_view{data}.substr(begin, end - begin);
        if (Status done = writer.write(begin, as_bytes(part)); !done) {
            return said(done);
        }
    }
    return said(writer.finish());
}

void check_made(const Scratch& at) {
    for (std::uint32_t i = 0; i < kDirectories; ++i) {
        for (std::uint32_t j = 0; j < kFilesInEach; ++j) {
            const std::string path = at.path(name_of(i, j));
            const struct stat status = status_of(path);
            const bool is_same = content_of(path) == content(i, j) &&
                                 status.st_mtime == 1234567890 &&
                                 (status.st_mode & 07777U) == (j % 2 == 0 ? 0640U : 0777U);
            CAPTURE(path);
            CHECK(is_same);
        }
    }
    CHECK((status_of(at.path("d3")).st_mode & 07777U) == 0750);
    CHECK(status_of(at.path("d3")).st_mtime == 1234567890);
}

}  // namespace

TEST_CASE("however many threads make it, a tree is the same") {
    const auto threads = GENERATE(1U, 2U, 4U, 9U);
    CAPTURE(threads);
    const Scratch at;
    REQUIRE(made(at.path(), threads) == "ok");
    check_made(at);
}

TEST_CASE("a file that can't be made is reported, whichever thread tried") {
    const auto threads = GENERATE(1U, 4U);
    const Scratch at;
    const TreeIndex index = some_tree();
    TreeWriter writer{index, opened(at.path()), "/t", kAllPages, threads};
    REQUIRE(writer.make_directories());
    at.write(name_of(2, 50), "foreign");
    const std::string data = data_of_tree();
    CHECK_THAT(said(writer.write(0, as_bytes(data))), Contains("/t/" + name_of(2, 50) + ": "));
    CHECK(content_of(at.path(name_of(2, 50))) == "foreign");
}

TEST_CASE("without further threads the caller makes the tree alone", "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch at;
    REQUIRE(::chmod(at.path().c_str(), 0777) == 0);
    const std::string outcome = test::in_child([&]() -> std::string {
        const rlimit none{.rlim_cur = 0, .rlim_max = 0};
        if (!test::become_nobody() || ::setrlimit(RLIMIT_NPROC, &none) != 0) {
            return "no other user";
        }
        try {
            std::jthread{[] {}}.join();
            return "a thread";
        } catch (const std::system_error&) {
            return made(at.path(), 4);
        }
    });
    CHECK(outcome == "ok");
    CHECK(content_of(at.path(name_of(3, 7))) == content(3, 7));
}

}  // namespace stage
