// Which files are known again, and which never?
#include "stager/cache/source_stamp.h"

#include "tests/unit/files/scratch.h"
#include "transport/base/unique_fd.h"

#include <catch2/catch.hpp>

#include <fcntl.h>

namespace stage {

TEST_CASE("a file is known again by what its file system says of its changes") {
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
    ++status.st_ctim.tv_nsec;
    CHECK(stamp != stamp_of(path, status, changed + std::chrono::seconds{9}));
}

TEST_CASE("an image, and a user's own file system, don't tell that a file has changed") {
    constexpr std::uint64_t kNfs = 0x6969;
    constexpr std::uint64_t kLustre = 0x0bd00bd0;
    constexpr std::uint64_t kSquash = 0x73717368;
    constexpr std::uint64_t kFuse = 0x65735546;
    CHECK(tells_changes(kNfs));
    CHECK(tells_changes(kLustre));
    CHECK_FALSE(tells_changes(kSquash));
    CHECK_FALSE(tells_changes(kFuse));
    const UniqueFd here{::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    CHECK(tells_changes_of(here.get()));
    CHECK_FALSE(tells_changes_of(-1));
}

}  // namespace stage
