// Tests that what a user makes of a PMIx host's directory goes in the end.
#include "stager/daemon/run/host_directories.h"

#include "stager/daemon/jobs/job_directory.h"
#include "tests/unit/daemon/services_world.h"
#include "tests/unit/root.h"
#include "tests/unit/spawn/spawn_world.h"

#include <catch2/catch.hpp>

#include <sys/mount.h>
#include <sys/stat.h>

#include <fstream>

namespace stage {
namespace {

constexpr Owner kUser{.uid = kUnknownUid, .gid = kUnknownUid};

struct DirectoriesWorld {
    DirectoriesWorld() { REQUIRE(::chmod(world.scratch.path().c_str(), 0711) == 0); }

    [[nodiscard]] UniqueFd root() const {
        return UniqueFd{
            ::open(world.scratch.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    }
    /// With pauses that a test can wait for.
    std::unique_ptr<HostDirectories> open() {
        return std::make_unique<HostDirectories>(
            world.loop(),
            world.services->basics.children,
            world.services->basics.log,
            root(),
            world.scratch.path(),
            HostDirectories::Pauses{.first = std::chrono::milliseconds{20},
                                    .most = std::chrono::milliseconds{20}});
    }
    /// A directory in which its user has made a directory with a file.
    std::string filled(HostDirectories& directories) {
        const auto name = directories.make();
        REQUIRE(name);
        REQUIRE(directories.give(*name, kUser.uid, kUser.gid));
        const std::string inner = directories.path_of(*name) + "/m";
        REQUIRE(::mkdir(inner.c_str(), 0700) == 0);
        std::ofstream{inner + "/file"} << "content";
        REQUIRE(::chown(inner.c_str(), kUser.uid, kUser.gid) == 0);
        return *name;
    }

    ServicesWorld world;
};

bool exists(const std::string& path) {
    return ::access(path.c_str(), F_OK) == 0;
}

}  // namespace

TEST_CASE("a host's directory is root's until it is given to a user, and no job's", "[root]") {
    if (!is_root()) {
        return;
    }
    DirectoriesWorld world;
    const auto directories = world.open();
    const auto name = directories->make();
    REQUIRE(name);
    CHECK(owner_of(world.root().get(), *name)->uid == 0);
    REQUIRE(directories->give(*name, kUser.uid, kUser.gid));
    CHECK(owner_of(world.root().get(), *name)->uid == kUser.uid);
    CHECK(numbered_directories(world.root().get()).empty());
    const auto other = directories->make();
    REQUIRE(other);
    CHECK(*other != *name);
    directories->remove_empty(*other);
    CHECK_FALSE(exists(directories->path_of(*other)));
    const std::string used = world.filled(*directories);
    directories->remove_empty(used);
    CHECK(exists(directories->path_of(used)));
}

TEST_CASE("a host's directory that is a mount point, or has one, goes when that is gone",
          "[root]") {
    if (!is_root()) {
        return;
    }
    DirectoriesWorld world;
    const auto directories = world.open();
    const std::string name = world.filled(*directories);
    const std::string path = directories->path_of(name);
    const std::string mount = GENERATE(true, false) ? path : path + "/m";
    if (::mount("none", mount.c_str(), "tmpfs", 0, nullptr) != 0) {
        WARN("skipped: no mounts here");
        return;
    }
    directories->remove(name);
    const std::string other = world.filled(*directories);
    directories->remove(other);  // What can't be removed is in the way of no other one.
    world.world.run_until([&] { return !exists(directories->path_of(other)); });
    CHECK(exists(path));
    CHECK(directories->left() >= 1);
    REQUIRE(::umount(mount.c_str()) == 0);
    world.world.run_until([&] { return directories->left() == 0; });
    CHECK_FALSE(exists(path));
}

TEST_CASE("directories of an earlier daemon's hosts are removed", "[root]") {
    if (!is_root()) {
        return;
    }
    DirectoriesWorld world;
    const auto earlier = world.open();
    const std::string path = earlier->path_of(world.filled(*earlier));
    const auto directories = world.open();
    world.world.run_until([&] { return directories->left() == 0; });
    CHECK_FALSE(exists(path));
}

}  // namespace stage
