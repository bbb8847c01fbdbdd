#include "stager/files/target/file_rest.h"

#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace stage {
namespace {

/// A file "d/a" that is open for writing, and its directory.
struct OpenFile {
    test::Scratch here;
    std::string path = here.write("d/a", "content");
    TargetPlace place{.root = here.path("d"), .below = "a"};
    UniqueFd directory{::open(here.path("d").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    UniqueFd file{::open(path.c_str(), O_RDWR | O_CLOEXEC)};
    FileRest rest;

    /// Wakes the file; the error, or "ok".
    std::string wake() {
        const Status woken = rest.end(place, "a", directory, file);
        return woken ? "ok" : woken.error().sentence();
    }
};

constexpr auto kTaken = "was removed or replaced while it was staged";
using Catch::Matchers::Contains;

}  // namespace

TEST_CASE("a file rests without descriptors, and can be written again") {
    OpenFile open;
    open.rest.begin(open.directory, open.file);
    CHECK(open.rest.is_resting());
    CHECK_FALSE(open.directory);
    CHECK_FALSE(open.file);
    CHECK(open.wake() == "ok");
    CHECK_FALSE(open.rest.is_resting());
    CHECK(::pwrite(open.file.get(), "C", 1, 0) == 1);
    CHECK(test::content_of(open.path) == "Content");
    CHECK(::faccessat(open.directory.get(), "a", F_OK, 0) == 0);
}

TEST_CASE("a directory rests without a file") {
    OpenFile open;
    open.file.reset();
    open.rest.begin(open.directory, open.file);
    CHECK(open.wake() == "ok");
    CHECK(open.directory);
    CHECK_FALSE(open.file);
}

TEST_CASE("a file that was replaced while it rested is not taken for it") {
    OpenFile open;
    open.rest.begin(open.directory, open.file);
    SECTION("another file") {
        const std::string other = open.here.write("other", "other");
        std::filesystem::rename(other, open.path);
    }
    SECTION("a link to it") {
        std::filesystem::rename(open.path, open.here.path("moved"));
        std::filesystem::create_symlink(open.here.path("moved"), open.path);
    }
    SECTION("none") {
        std::filesystem::remove(open.path);
    }
    SECTION("another directory") {
        std::filesystem::rename(open.here.path("d"), open.here.path("e"));
        open.here.write("d/a", "content");
    }
    CHECK_THAT(open.wake(), Contains(kTaken));
    CHECK_FALSE(open.file);
}

TEST_CASE("a file that its owner cannot read does not rest") {
    OpenFile open;
    REQUIRE(::fchmod(open.file.get(), 0200) == 0);
    open.rest.begin(open.directory, open.file);
    CHECK_FALSE(open.rest.is_resting());
    CHECK(open.directory);
    CHECK(open.file);
}

}  // namespace stage
