// Tests that a link on a path is followed only if only root could have made it.
#include "stager/disk/trusted_path.h"

#include "tests/unit/scratch.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace stage {

TEST_CASE("a directory is reached through root's links, and through no others") {
    const test::Scratch scratch;
    const std::filesystem::path top = scratch.path();
    std::filesystem::create_directories(top / "open" / "real" / "below");
    std::filesystem::create_directory(top / "closed");
    std::filesystem::create_symlink(top / "open" / "real", top / "open" / "link");
    std::filesystem::create_symlink(top / "open" / "real", top / "closed" / "link");
    REQUIRE(::chmod((top / "open").c_str(), 0777) == 0);
    const auto is_reached = [&](const std::string& path) {
        return bool{open_trusted_path(top.string() + path)};
    };
    CHECK(is_reached("/open/real"));
    CHECK(is_reached("/open/real/below/"));
    CHECK(is_reached("/open/./real//below"));
    CHECK_FALSE(is_reached("/open/absent"));
    CHECK_FALSE(is_reached("/open/real/../real"));
    CHECK_FALSE(is_reached("/open/link"));
    CHECK_FALSE(is_reached("/open/link/below"));
    // Of root's own link in root's own directory; without root's rights it is just anybody's.
    CHECK(is_reached("/closed/link/below") == (::geteuid() == 0));
    CHECK_FALSE(open_trusted_path("relative"));
}

}  // namespace stage
