// Tests which entries of a directory another user may have placed there.
#include "stager/disk/foreign_entry.h"

#include "tests/unit/files/scratch.h"
#include "tests/unit/root.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/file.h>

#include <array>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using test::content_of;
using test::said;
using test::Scratch;

constexpr uid_t kOwn = 2001;
constexpr uid_t kOther = 2002;

struct stat status_with(mode_t mode, uid_t user, nlink_t names = 1) {
    struct stat status {};
    status.st_mode = mode;
    status.st_uid = user;
    status.st_nlink = names;
    return status;
}

/// Root's directory of that mode.
ForeignEntry judged(mode_t directory, const struct stat& there) {
    return foreign_entry_in(status_with(S_IFDIR | directory, 0), there, kOwn);
}

/// The result of staging 3 bytes "new" of mode 0755 and mtime 1000 as the user `nobody`.
std::string as_nobody(const Scratch& to, const std::string& below, Existing existing) {
    const Scratch from;
    const std::string source = from.write("a", "new");
    const std::array times{timespec{1000, 0}, timespec{1000, 0}};
    REQUIRE(::utimensat(AT_FDCWD, source.c_str(), times.data(), 0) == 0);
    REQUIRE(::chmod(source.c_str(), 0755) == 0);
    REQUIRE(::chmod(from.path().c_str(), 0755) == 0);
    return test::in_child([&] {
        return test::become_nobody() ? said(test::stage_all({{.source = source,
                                                              .root = to.path(),
                                                              .below = below,
                                                              .existing = existing}}))
                                     : "still root";
    });
}

}  // namespace

TEST_CASE("in a world-writable directory only own entries and its owner's are trusted") {
    const auto file_of = [](uid_t user) { return status_with(S_IFREG | 0644, user); };
    for (const mode_t open : {01777U, 0777U, 0757U, 01775U, 03770U}) {
        CAPTURE(open);
        CHECK(judged(open, file_of(kOwn)) == ForeignEntry::no);
        CHECK(judged(open, file_of(0)) == ForeignEntry::no);
        CHECK(judged(open, file_of(kOther)) == ForeignEntry::by_another);
        CHECK(judged(open, status_with(S_IFLNK | 0777, kOther)) == ForeignEntry::by_another);
        CHECK(judged(open, status_with(S_IFDIR | 0755, kOther)) == ForeignEntry::by_another);
    }
}

TEST_CASE("in a project's directory, and in a private one, every entry is trusted") {
    for (const mode_t closed : {0755U, 0700U, 01755U, 0775U, 02775U, 0770U}) {
        CAPTURE(closed);
        CHECK(judged(closed, status_with(S_IFREG | 0666, kOther, 2)) == ForeignEntry::no);
        CHECK(judged(closed, status_with(S_IFDIR | 0777, kOther)) == ForeignEntry::no);
    }
}

TEST_CASE("a world-writable entry is not trusted, whatever its owner") {
    for (const uid_t user : {kOwn, uid_t{0}}) {
        CHECK(judged(01777, status_with(S_IFREG | 0666, user)) == ForeignEntry::is_writable);
        CHECK(judged(01777, status_with(S_IFREG | 0664, user)) == ForeignEntry::no);
        CHECK(judged(01777, status_with(S_IFDIR | 0777, user)) == ForeignEntry::is_writable);
        CHECK(judged(01777, status_with(S_IFDIR | 0775, user)) == ForeignEntry::no);
        CHECK(judged(01777, status_with(S_IFLNK | 0777, user)) == ForeignEntry::no);
    }
}

TEST_CASE("a file with a second name may have been linked by another") {
    CHECK(judged(01777, status_with(S_IFREG | 0644, kOwn, 2)) == ForeignEntry::has_names);
    CHECK(judged(01777, status_with(S_IFDIR | 0755, kOwn, 5)) == ForeignEntry::no);
}

TEST_CASE("another user's file is refused in a world-writable directory, else used", "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch to;
    const std::string path = to.write("x", "new");
    REQUIRE(::chown(path.c_str(), 4242, 4242) == 0);
    REQUIRE(::chmod(path.c_str(), 0755) == 0);
    SECTION("open") {
        REQUIRE(::chmod(to.path().c_str(), 01777) == 0);
        for (const Existing existing : {Existing::refuse, Existing::keep, Existing::newer}) {
            CHECK_THAT(as_nobody(to, "x", existing),
                       Contains(path + ": belongs to uid 4242, in a world-writable directory; "
                                       "choose another destination"));
        }
    }
    SECTION("of a sticky one's group") {
        REQUIRE(::chown(to.path().c_str(), 0, 65534) == 0);
        REQUIRE(::chmod(to.path().c_str(), 01775) == 0);
        CHECK_THAT(as_nobody(to, "x", Existing::refuse),
                   Contains("belongs to uid 4242, in a group-writable sticky directory"));
    }
    SECTION("closed") {
        REQUIRE(::chown(to.path().c_str(), 0, 65534) == 0);
        REQUIRE(::chmod(to.path().c_str(), 0775) == 0);
        CHECK(as_nobody(to, "x", Existing::refuse) == "ok");
        CHECK(as_nobody(to, "x", Existing::keep) == "ok");
        CHECK(as_nobody(to, "x", Existing::newer) == "ok");
    }
    CHECK(content_of(path) == "new");
}

TEST_CASE(
    "an own file that others could write, or have linked, is refused in an open directory",
    "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch to;
    const std::string path = to.write("x", "new");
    REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
    REQUIRE(::chmod(path.c_str(), 0755) == 0);
    REQUIRE(::chmod(to.path().c_str(), 01777) == 0);
    CHECK(as_nobody(to, "x", Existing::refuse) == "ok");
    REQUIRE(::chmod(path.c_str(), 0757) == 0);
    CHECK_THAT(as_nobody(to, "x", Existing::refuse), Contains("is world-writable, in a"));
    CHECK_THAT(as_nobody(to, "x", Existing::keep), Contains("is world-writable, in a"));
    REQUIRE(::chmod(path.c_str(), 0755) == 0);
    REQUIRE(::link(path.c_str(), to.path("y").c_str()) == 0);
    CHECK_THAT(as_nobody(to, "x", Existing::refuse), Contains("has several hard links"));
    CHECK(as_nobody(to, "x", Existing::overwrite) == "ok");
}

TEST_CASE("a staged copy of a world-writable source is found again", "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch from;
    const Scratch to;
    const std::string source = from.write("a", "new");
    REQUIRE(::chmod(source.c_str(), 0666) == 0);
    REQUIRE(::chmod(to.path().c_str(), 01777) == 0);
    const auto staging = [&](Existing existing) {
        return said(test::stage_all(
            {{.source = source, .root = to.path(), .below = "x", .existing = existing}}));
    };
    CHECK(staging(Existing::refuse) == "ok");
    CHECK(staging(Existing::refuse) == "ok");
    // Not compared, its bytes may be anybody's.
    CHECK_THAT(staging(Existing::keep), Contains("is world-writable"));
}

TEST_CASE("another user's directory on the path is refused in a world-writable directory",
          "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch to;
    to.write("d/e/y", "");
    REQUIRE(::chmod(to.path().c_str(), 01777) == 0);
    REQUIRE(::chmod(to.path("d").c_str(), 0777) == 0);
    const auto with_owner = [&](uid_t user) {
        REQUIRE(::chown(to.path("d").c_str(), user, user) == 0);
        return as_nobody(to, "d/x", Existing::refuse);
    };
    CHECK_THAT(with_owner(4242),
               Contains(to.path("d") + ": belongs to uid 4242, in a world-writable directory"));
    CHECK_THAT(with_owner(65534), Contains(to.path("d") + ": is world-writable, in a"));
    REQUIRE(::chmod(to.path("d").c_str(), 01777) == 0);  // As /tmp is.
    CHECK(with_owner(0) == "ok");
    REQUIRE(::chmod(to.path("d").c_str(), 0755) == 0);
    REQUIRE(::unlink(to.path("d/x").c_str()) == 0);
    CHECK(with_owner(65534) == "ok");
}

TEST_CASE("a temporary name that another user has taken is avoided", "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch to;
    const std::array taken{to.write(".x.stagecast.42.0", "squat"),
                           to.write(".x.stagecast.42.1", "squat")};
    for (const std::string& path : taken) {
        REQUIRE(::chown(path.c_str(), 4242, 4242) == 0);
    }
    REQUIRE(::chmod(to.path().c_str(), 01777) == 0);
    CHECK(as_nobody(to, "x", Existing::refuse) == "ok");
    CHECK(to.names() ==
          std::vector<std::string>{".x.stagecast.42.0", ".x.stagecast.42.1", "x"});
}

TEST_CASE("a directory of libraries is the user's alone", "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch to;
    to.write("libs/a", "");
    const std::string path = to.path("libs");
    const auto judged_as_own = [&] {
        const UniqueFd directory{::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
        return said(check_own_directory(directory.get(), path));
    };
    CHECK(judged_as_own() == "ok");
    REQUIRE(::chmod(path.c_str(), 0775) == 0);
    CHECK_THAT(judged_as_own(), Contains("is writable by others"));
    REQUIRE(::chmod(path.c_str(), 0755) == 0);
    REQUIRE(::chown(to.path("libs/a").c_str(), 4242, 4242) == 0);
    CHECK_THAT(judged_as_own(), Contains(path + "/a: belongs to uid 4242"));
    REQUIRE(::chown(path.c_str(), 4242, 4242) == 0);
    CHECK_THAT(judged_as_own(), Contains(path + ": belongs to uid 4242"));
}

}  // namespace stage
