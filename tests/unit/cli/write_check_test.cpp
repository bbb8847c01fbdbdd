#include "stager/cli/doctor/write_check.h"

#include "tests/unit/files/scratch.h"
#include "tests/unit/root.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

using namespace stage;
using Catch::Matchers::Contains;

namespace {

std::string seen(const std::string& path) {
    const Finding found = and_writable(fine("StageRoot", path), path);
    return (found.health == Health::fine ? "fine " : "wrong ") + found.sentence;
}

}  // namespace

TEST_CASE("a directory is fit if a file can be written in it, and none is left") {
    const test::Scratch scratch;
    CHECK(seen(scratch.path()) == "fine " + scratch.path());
    CHECK(scratch.names().empty());
    CHECK(check_run_dir(scratch.path("absent")).health == Health::unknown);
    CHECK(check_run_dir(scratch.path()).health == Health::fine);
    // What is wrong already is said, not tried.
    CHECK(and_writable(wrong("StageRoot", "a link"), scratch.path("absent")).sentence ==
          "a link");
}

TEST_CASE("a write that hangs, and one that ends without an answer, are given up") {
    CHECK(errno_within(std::chrono::seconds{60}, [] { return ENOSPC; }) == ENOSPC);
    CHECK_FALSE(errno_within(std::chrono::milliseconds{10}, [] { return ::pause(); }));
    CHECK_FALSE(errno_within(std::chrono::seconds{60}, []() -> int { std::abort(); }));
}

TEST_CASE("a read-only and a full file system are found by writing", "[root]") {
    if (!is_root()) {
        return;
    }
    const test::Scratch scratch;
    const auto in_small = [&](bool is_full) {
        return test::in_child([&] {
            if (!test::mount_small(scratch.path(), 64 * 1024)) {
                return std::string{"no mount"};
            }
            if (is_full) {
                scratch.write("all", test::noise(64 * 1024));
            } else if (!test::remount_read_only(scratch.path())) {
                return std::string{"no mount"};
            }
            return seen(scratch.path());
        });
    };
    const std::string full = in_small(true);
    if (full == "no mount") {
        WARN("no mount namespace here");
        return;
    }
    CHECK_THAT(full, Contains("wrong") && Contains("No space left on device; free space"));
    CHECK_THAT(in_small(false), Contains("wrong") && Contains("Read-only file system"));
}
