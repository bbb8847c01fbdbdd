// Tests that directories above a destination are made as by mkdir -p, listed before, and
// removed if they are empty.
#include "stager/removal/made_directories.h"

#include "stager/files/target/target_directory.h"
#include "stager/removal/cleanup_entry.h"
#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

namespace stage {
namespace {

using test::Scratch;
using Names = std::vector<std::string>;

TargetPlace place(const Scratch& root, std::shared_ptr<MadeDirectories> made) {
    return {.root = root.path(),
            .below = "a/b/file",
            .makes_directories = true,
            .made = std::move(made)};
}

bool is_there(const std::string& path) {
    return ::access(path.c_str(), F_OK) == 0;
}

}  // namespace

TEST_CASE("each directory is listed before it is made, and removed if it is empty") {
    const Scratch root;
    Names listed;
    {
        const auto made = std::make_shared<MadeDirectories>([&](const Names& entries) {
            for (const std::string& entry : entries) {
                listed.push_back(entry);
                CHECK_FALSE(is_there(entry));
            }
            return Status{};
        });
        const auto opened = open_target_directory(place(root, made));
        REQUIRE(opened);
        CHECK(listed == Names{parent_entry(root.path("a")), parent_entry(root.path("a/b"))});
        CHECK((test::status_of(root.path("a/b")).st_mode & 0700U) == 0700U);
        REQUIRE(open_target_directory(place(root, made)));
        CHECK(listed.size() == 2);
    }
    CHECK_FALSE(is_there(root.path("a")));
}

TEST_CASE("a directory that existed before, or is not empty, stays") {
    const Scratch root;
    REQUIRE(::mkdir(root.path("a").c_str(), 0700) == 0);
    {
        const auto made = std::make_shared<MadeDirectories>();
        REQUIRE(open_target_directory(place(root, made)));
    }
    CHECK(is_there(root.path("a")));
    CHECK_FALSE(is_there(root.path("a/b")));
    {
        const auto made = std::make_shared<MadeDirectories>();
        REQUIRE(open_target_directory(place(root, made)));
        root.write("a/b/file", "x");
    }
    CHECK(is_there(root.path("a/b")));
}

TEST_CASE("no link on the path of a new directory is followed") {
    const Scratch root;
    const Scratch elsewhere;
    REQUIRE(::symlink(elsewhere.path().c_str(), root.path("a").c_str()) == 0);
    const auto made = std::make_shared<MadeDirectories>();
    CHECK_FALSE(open_target_directory(place(root, made)));
    CHECK_FALSE(is_there(elsewhere.path("b")));
}

TEST_CASE("if the daemon can't list a directory, it is not made") {
    const Scratch root;
    const auto made = std::make_shared<MadeDirectories>([](const Names&) {
        return Status{Error{Blame::internal, "gone"}};
    });
    CHECK_FALSE(open_target_directory(place(root, made)));
    CHECK_FALSE(is_there(root.path("a")));
}

}  // namespace stage
