// Tests that the node cache refuses directories that contain other files.
#include "stager/daemon/cache/cache_directory.h"

#include "tests/unit/root.h"
#include "tests/unit/scratch.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stage {
namespace {

Config config_of(const std::string& cache, const std::string& root) {
    Config config;
    config.cache_dir = cache;
    config.stage_root = root;
    config.allow_ram_stage_root = true;
    return config;
}

std::string refusal(const std::string& cache, const std::string& root) {
    const auto directory = open_cache_directory(config_of(cache, root));
    return directory ? "taken" : directory.error().sentence();
}

unsigned mode_of(const std::string& path) {
    struct stat status {};
    REQUIRE(::lstat(path.c_str(), &status) == 0);
    return status.st_mode & 07777U;
}

}  // namespace

TEST_CASE("a CacheDir of its own is taken, and is root's alone then", "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch scratch;
    const std::string root = scratch.directory("stage", 0755);
    const std::string cache = scratch.directory("cache", 0755);
    CHECK(refusal(cache, root) == "taken");
    CHECK(mode_of(cache) == 0700);
    CHECK(refusal(scratch.path() + "/made", root) == "taken");
    CHECK(mode_of(scratch.path() + "/made") == 0700);
    CHECK(refusal(scratch.path() + "/stage-cache", root) == "taken");
}

TEST_CASE("a CacheDir that is StageRoot, holds it or lies in it is refused", "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch scratch;
    const std::string root = scratch.directory("stage", 0755);
    const std::string below = scratch.directory("stage/cache", 0755);
    for (const std::string& wrong : {root,
                                     root + "/",
                                     root + "/../stage",
                                     "/" + root + "//cache/",
                                     below,
                                     scratch.path() + "/./stage/cache",
                                     scratch.path(),
                                     scratch.path() + "/",
                                     std::string{"/"}}) {
        CAPTURE(wrong);
        CHECK_THAT(refusal(wrong, root), Catch::Contains("StageRoot"));
    }
    CHECK_THAT(refusal(root, root + "/"), Catch::Contains("lie in one another"));
    CHECK(mode_of(root) == 0755);
    CHECK(mode_of(below) == 0755);
}

TEST_CASE("a CacheDir that holds something else is refused, and left as it was", "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch scratch;
    const std::string root = scratch.directory("stage", 0755);
    const std::string home = scratch.directory("home", 0755);
    const std::string file = home + "/results";
    const UniqueFd made{::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644)};
    REQUIRE(made);
    CHECK_THAT(refusal(home, root), Catch::Contains("holds results"));
    CHECK(mode_of(home) == 0755);
    CHECK(::access(file.c_str(), F_OK) == 0);
}

}  // namespace stage
