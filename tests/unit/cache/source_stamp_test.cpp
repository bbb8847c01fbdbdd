// Tests which files are recognised by their stamp, and which never are.
#include "stager/content/source_stamp.h"

#include "tests/unit/files/scratch.h"
#include "tests/unit/root.h"
#include "transport/os/unique_fd.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

namespace stage {

TEST_CASE("a file is recognised by the times of its file system") {
    const test::Scratch scratch;
    const std::string path = scratch.path("file");
    const UniqueFd fd{::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)};
    struct stat status {};
    REQUIRE(::fstat(fd.get(), &status) == 0);
    const auto changed = std::chrono::seconds{status.st_ctim.tv_sec};
    CHECK_FALSE(stamp_of(path, status, changed + std::chrono::seconds{1}));
    const auto stamp = stamp_of(path, status, changed + std::chrono::seconds{9});
    REQUIRE(stamp);
    CHECK(stamp == stamp_of(path, status, changed + std::chrono::hours{9}));
    CHECK(stamp != stamp_of(path + "x", status, changed + std::chrono::seconds{9}));
    CHECK(stamp != stamp_of(path, status, changed + std::chrono::seconds{9}, "a start"));
    ++status.st_ctim.tv_nsec;
    CHECK(stamp != stamp_of(path, status, changed + std::chrono::seconds{9}));
}

TEST_CASE("a tree is recognised by all its members and their sent metadata") {
    struct stat top {};
    top.st_dev = 5;
    top.st_ino = 2;
    top.st_ctim.tv_sec = 1000;
    struct stat member = top;
    member.st_ino = 3;
    const auto stamp_with = [&](const struct stat& one,
                                std::chrono::seconds begun = std::chrono::seconds{1009},
                                const std::string& path = "/t",
                                std::byte index = std::byte{1}) {
        TreeStamper stamper{begun};
        stamper.add(top);
        stamper.add(one);
        return stamper.stamp(path, Bytes{&index, 1});
    };
    const auto stamp = stamp_with(member);
    REQUIRE(stamp);
    CHECK(stamp == stamp_with(member, std::chrono::hours{9}));
    CHECK(stamp != stamp_with(member, std::chrono::seconds{1009}, "/u"));
    CHECK(stamp != stamp_with(member, std::chrono::seconds{1009}, "/t", std::byte{2}));
    CHECK_FALSE(stamp_with(member, std::chrono::seconds{1001}));
    struct stat other = member;
    ++other.st_ino;
    CHECK(stamp != stamp_with(other));
    other = member;
    ++other.st_ctim.tv_nsec;
    CHECK(stamp != stamp_with(other));
    other = member;
    ++other.st_mtim.tv_nsec;
    CHECK(stamp != stamp_with(other));
    other = member;
    ++other.st_dev;
    CHECK_FALSE(stamp_with(other));
    other = member;
    other.st_mtim.tv_sec = 1008;
    CHECK_FALSE(stamp_with(other));
}

TEST_CASE("an image, and a user's own file system, do not record changes reliably") {
    constexpr std::uint64_t kNfs = 0x6969;
    constexpr std::uint64_t kLustre = 0x0bd00bd0;
    constexpr std::uint64_t kSquash = 0x73717368;
    constexpr std::uint64_t kFuse = 0x65735546;
    CHECK(tells_changes(kNfs));
    CHECK(tells_changes(kLustre));
    CHECK_FALSE(tells_changes(kSquash));
    CHECK_FALSE(tells_changes(kFuse));
    const UniqueFd here{::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    CHECK(stamp_ground(here.get()));
    CHECK_FALSE(stamp_ground(-1));
}

TEST_CASE("an overlay may show an image, which may be another one after a reboot", "[root]") {
    if (!is_root()) {
        return;
    }
    const test::Scratch scratch;
    const std::string below = scratch.path("below");
    const std::string answer = test::in_child([&]() -> std::string {
        if (!test::mount_small(below, 1U << 20U)) {
            return "no mounts";
        }
        for (const char* name : {"/lower", "/upper", "/work", "/shown"}) {
            if (::mkdir((below + name).c_str(), 0755) != 0) {
                return "no directory";
            }
        }
        const std::string layers = "lowerdir=" + below + "/lower,upperdir=" + below +
                                   "/upper,workdir=" + below + "/work";
        if (::mount("shown", (below + "/shown").c_str(), "overlay", 0, layers.c_str()) != 0) {
            return "no overlay";
        }
        const UniqueFd shown{::open((below + "/shown").c_str(), O_RDONLY | O_CLOEXEC)};
        const UniqueFd plain{::open((below + "/upper").c_str(), O_RDONLY | O_CLOEXEC)};
        return stamp_ground(plain.get()).value_or("?") + ":" +
               stamp_ground(shown.get()).value_or("?");
    });
    if (answer == "no overlay") {
        WARN("skipped: this kernel, or this file system, makes no overlay");
        return;
    }
    CHECK(answer.size() == 37);  // Nothing, and a boot_id.
    CHECK(answer.front() == ':');
}

}  // namespace stage
