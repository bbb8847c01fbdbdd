// Tests destinations on file systems that lack what most have, or report failures late.
#include "tests/unit/files/archives.h"
#include "tests/unit/files/failing_call.h"
#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using test::content_of;
using test::said;
using test::said_where_call_fails;
using test::Scratch;
using test::Spec;
using test::Tar;

/// A file, a tree and an archive, staged one at a time to `to`.
struct Kinds {
    Kinds() {
        from.write("file", "content");
        REQUIRE(::mkdir(from.path("tree").c_str(), 0755) == 0);
        from.write("tree/small", "x");
        from.write("tree/empty", "");
        from.write("tree/long", test::noise(3 * kBlockBytes, 1));
        from.write("x.tar", Tar{}.directory("d/", 0755).file("d/member", "y").bytes());
    }
    std::string stage(const char* name, Existing existing = Existing::refuse) const {
        return said(test::stage_all({{.source = from.path(name),
                                      .root = to.path(),
                                      .below = std::string{"to-"} + name,
                                      .existing = existing,
                                      .is_unpacked = std::string{name} == "x.tar"}}));
    }

    Scratch from;
    Scratch to;
};

}  // namespace

// AFS, NFS and FUSE: a quota may be found to be used up when a file is closed.
TEST_CASE("what only close(2) reports fails a file, a tree and an archive") {
    const auto* name = GENERATE("file", "tree", "x.tar");
    const Kinds kinds;
    CHECK_THAT(said_where_call_fails(SYS_close, EDQUOT, [&] { return kinds.stage(name); }),
               Contains("Disk quota exceeded; your quota there is used up"));
}

// Lustre without -o flock, and some FUSE file systems.
TEST_CASE("a destination without locks takes a file, a tree and an archive") {
    const auto* name = GENERATE("file", "tree", "x.tar");
    const int cause = GENERATE(ENOSYS, ENOLCK, EOPNOTSUPP);
    const Kinds kinds;
    CHECK(said_where_call_fails(SYS_flock, cause, [&] { return kinds.stage(name); }) == "ok");
}

TEST_CASE("a destination that cannot allocate takes a file and a tree") {
    const auto* name = GENERATE("file", "tree");
    const int cause = GENERATE(EINVAL, EPERM, ENODEV);
    const Kinds kinds;
    CHECK(said_where_call_fails(SYS_fallocate, cause, [&] { return kinds.stage(name); }) ==
          "ok");
    const Kinds full;
    CHECK_THAT(said_where_call_fails(SYS_fallocate, ENOSPC, [&] { return full.stage(name); }),
               Contains("No space left"));
}

TEST_CASE("a destination that refuses chmod(2) takes an archive as it does a tree") {
    const auto* name = GENERATE("file", "tree", "x.tar");
    const Kinds kinds;
    CHECK(said_where_call_fails(SYS_fchmod, EPERM, [&] { return kinds.stage(name); }) == "ok");
}

TEST_CASE("links to a file that is there are not blamed on the archive") {
    const Kinds kinds;
    kinds.from.write("x.tar", Tar{}.file("one", "1").hard_link("two", "one").bytes());
    CHECK_THAT(said_where_call_fails(SYS_linkat, EPERM, [&] { return kinds.stage("x.tar"); }),
               Contains("Operation not permitted; the file system takes no hard links"));
    kinds.from.write("tree/a", "z");
    REQUIRE(::link(kinds.from.path("tree/a").c_str(), kinds.from.path("tree/b").c_str()) == 0);
    CHECK_THAT(said_where_call_fails(SYS_linkat, EPERM, [&] { return kinds.stage("tree"); }),
               Contains("Operation not permitted; the file system takes no hard links"));
}

// vfat, exFAT, some network file systems: a copy lacks the fraction of a second.
TEST_CASE("newer leaves a copy whose file system keeps whole seconds") {
    const auto* name = GENERATE("file", "tree");
    const Kinds kinds;
    REQUIRE(kinds.stage(name) == "ok");
    const std::string copy = kinds.to.path(std::string{"to-"} + name);
    const auto set_times = [&](const std::string& path, long nanoseconds) {
        const std::array times{timespec{1'000'000'000, 0},
                               timespec{1'000'000'000, nanoseconds}};
        REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) == 0);
    };
    const bool is_tree = std::string{name} == "tree";
    for (const char* member : {"/small", "/empty", "/long", ""}) {
        if (is_tree || *member == '\0') {
            set_times(copy + member, 0);
            set_times(kinds.from.path(name) + member, 894'700'000);
        }
    }
    const ino_t before = test::status_of(copy).st_ino;
    CHECK(kinds.stage(name, Existing::newer) == "ok");
    CHECK(test::status_of(copy).st_ino == before);
    set_times(kinds.from.path(name) + (is_tree ? "/small" : ""), 999'999'999);
    set_times(copy + (is_tree ? "/small" : ""), 1);
    CHECK(kinds.stage(name, Existing::newer) == "ok");
    CHECK(test::status_of(copy).st_ino != before);
}

}  // namespace stage
