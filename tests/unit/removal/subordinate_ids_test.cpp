// Tests which uids /etc/subuid makes a user's own.
#include "stager/removal/subordinate_ids.h"

#include "stager/removal/empty_directory.h"
#include "tests/unit/files/scratch.h"
#include "tests/unit/root.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

using namespace stage;

namespace {

UidRanges ranges_of(const std::string& text, uid_t uid, const std::string& name) {
    const test::Scratch scratch;
    const std::string path = scratch.path("subuid");
    std::ofstream{path} << text;
    return subordinate_uids(uid, name, path);
}

}  // namespace

TEST_CASE("a user has the ranges of the own lines, by name and by uid") {
    const std::string text = "alice:100000:65536\n2001:300000:10\nbob:200000:65536\n";
    CHECK(ranges_of(text, 2001, "alice") == UidRanges{{100000, 65536}, {300000, 10}});
    CHECK(ranges_of(text, 2001, "") == UidRanges{{300000, 10}});
    CHECK(ranges_of(text, 2003, "eve").empty());
    CHECK(subordinate_uids(2001, "alice", "/nonexistent/subuid").empty());
}

TEST_CASE("lines that are none, and ranges from root's uid on, count as absent") {
    for (const char* text : {"",
                             "alice",
                             "alice:",
                             "alice:100000",
                             "alice:100000:",
                             "alice::65536",
                             "alice:0:65536",
                             "alice:100000:65536:",
                             "alice:100000:-1",
                             "alice:x:65536",
                             "#alice:100000:65536",
                             "alicex:100000:65536"}) {
        CAPTURE(text);
        CHECK(ranges_of(text, 2001, "alice").empty());
    }
}

TEST_CASE("a range has its first uid and no uid beyond its last") {
    const UidRanges ranges{just(7), {100000, 2}, {4294967290U, 65536}};
    for (const uid_t uid : {7U, 100000U, 100001U, 4294967290U, 4294967295U}) {
        CHECK(contains(ranges, uid));
    }
    for (const uid_t uid : {0U, 6U, 8U, 99999U, 100002U, 4294967289U}) {
        CHECK_FALSE(contains(ranges, uid));
    }
}

TEST_CASE("directories of subordinate uids are emptied with the user's, others are not",
          "[root]") {
    if (!is_root()) {
        return;
    }
    const test::Scratch scratch;
    const std::string top = scratch.path("top");
    for (const std::string& path : {top, top + "/container", top + "/container/deep"}) {
        REQUIRE(::mkdir(path.c_str(), 0700) == 0);
    }
    std::ofstream{top + "/container/deep/file"} << "x";
    REQUIRE(::chown((top + "/container/deep").c_str(), 100005, 100005) == 0);
    REQUIRE(::chown((top + "/container").c_str(), 100000, 100000) == 0);
    REQUIRE(::chown(top.c_str(), 2001, 2001) == 0);
    const UniqueFd open{::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    const Status refused = empty_directory(open.get(), UidRanges{just(2001), {100000, 5}});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().cause() == EPERM);
    CHECK(empty_directory(open.get(), UidRanges{just(2001), {100000, 6}}));
    CHECK(::access((top + "/container").c_str(), F_OK) != 0);
}
