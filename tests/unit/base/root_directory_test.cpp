#include "transport/os/root_directory.h"

#include "tests/unit/root.h"
#include "tests/unit/scratch.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

using namespace stage;

namespace {

std::string said(const std::string& path) {
    const auto opened = open_root_directory("PushRoots", path, false);
    return opened ? "" : opened.error().sentence();
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a directory that only root can have placed is opened, no other one", "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch place;
    const std::string good = place.path() + "/images";
    REQUIRE(::mkdir(good.c_str(), 0755) == 0);
    CHECK(said(good).empty());
    CHECK(said(good + "/").empty());
    CHECK(has(said("images"), "is not an absolute path"));
    CHECK(has(said(good + "/none"), "No such file or directory; make it"));

    const std::string link = place.path() + "/link";
    REQUIRE(::symlink(good.c_str(), link.c_str()) == 0);
    CHECK(has(said(link), "PushRoots: " + link + " is a symbolic link"));
    REQUIRE(::mkdir((good + "/deep").c_str(), 0755) == 0);
    CHECK(has(said(link + "/deep"), "is a symbolic link"));

    REQUIRE(::chown(good.c_str(), 2001, 2001) == 0);
    CHECK(has(said(good), good + " does not belong to root; chown root it"));
    CHECK(has(said(good + "/deep"), good + " does not belong to root"));
    REQUIRE(::chown(good.c_str(), 0, 0) == 0);
    for (const mode_t mode : {mode_t{01777}, mode_t{0775}, mode_t{0757}}) {
        REQUIRE(::chmod(good.c_str(), mode) == 0);
        CHECK(has(said(good), "can be written by others than root"));
        CHECK(said(good + "/deep").empty() == ((mode & 01000U) != 0));
    }
}

TEST_CASE("the last component of a directory of root's can be made, nothing above it",
          "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch place;
    CHECK(open_root_directory("StageRoot", place.path() + "/new", true));
    CHECK_FALSE(open_root_directory("StageRoot", place.path() + "/a/b", true));
}
