#include "spank/job/user_mounts.h"

#include "tests/unit/root.h"
#include "tests/unit/scratch.h"
#include "transport/os/unique_fd.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <vector>

using namespace stage;

namespace {

/// A StageRoot in which directories of jobs have mounts.
class MountWorld {
  public:
    MountWorld() {
        for (const char* const name : {"7", "7/sub", "7/a b", "77", ".host.0", ".host.0/d"}) {
            stage_.directory(name, 0755);
        }
        stage_.write("7/below", "kept by the mount");
        stage_.write("7/file", "");
    }

    void mount(const std::string& on) const { bind(outside_.path(), on); }
    void mount_file(const std::string& on) const { bind(outside_.write("f", "x"), on); }
    void make(const std::string& name) const { stage_.directory(name, 0755); }
    [[nodiscard]] const std::string& path() const { return stage_.path(); }
    [[nodiscard]] bool is_mounted(const std::string& on) const {
        std::ifstream table{"/proc/self/mountinfo"};
        for (std::string line; std::getline(table, line);) {
            if (line.find(' ' + stage_.path() + '/' + on + ' ') != std::string::npos) {
                return true;
            }
        }
        return false;
    }
    [[nodiscard]] bool has(const std::string& name) const {
        return ::access((path() + '/' + name).c_str(), F_OK) == 0;
    }

  private:
    void bind(const std::string& what, const std::string& on) const {
        const std::string there = path() + '/' + on;
        REQUIRE(::mount(what.c_str(), there.c_str(), nullptr, MS_BIND, nullptr) == 0);
    }

    Scratch stage_;
    Scratch outside_;
};

/// True once this process may mount, in a mount namespace of its own from then on.
bool may_mount() {
    static const bool may = ::unshare(CLONE_NEWNS) == 0 &&
                            ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    if (!may) {
        WARN("skipped: no right to mount");
    }
    return may;
}

}  // namespace

TEST_CASE("a job's end detaches what was mounted over its files, however", "[root]") {
    if (!is_root() || !may_mount()) {
        return;
    }
    const MountWorld world;
    SECTION("over the directory, twice, and in it before") {
        world.mount("7/sub");
        world.mount("7");
        world.mount("7");
        CHECK_FALSE(world.has("7/below"));
    }
    SECTION("in the directory, twice, and on a file") {
        world.mount("7/sub");
        world.mount("7/sub");
        world.mount("7/a b");
        world.mount_file("7/file");
    }
    SECTION("over the directory of a PMIx host") {
        world.mount(".host.0/d");
        world.mount(".host.0");
    }
    CHECK(detach_user_mounts(world.path(), 7));
    for (const char* const on : {"7", "7/sub", "7/a\\040b", "7/file", ".host.0", ".host.0/d"}) {
        CAPTURE(on);
        CHECK_FALSE(world.is_mounted(on));
    }
    CHECK(world.has("7/below"));
}

TEST_CASE("the mounts of other jobs stay", "[root]") {
    if (!is_root() || !may_mount()) {
        return;
    }
    const MountWorld world;
    world.mount("77");
    CHECK(detach_user_mounts(world.path(), 7));
    CHECK(world.is_mounted("77"));
    CHECK(detach_user_mounts(world.path() + "//", 77));
    CHECK_FALSE(world.is_mounted("77"));
}

TEST_CASE("a mount whose path is too long for the kernel's calls keeps no other one",
          "[root]") {
    if (!is_root() || !may_mount()) {
        return;
    }
    const MountWorld world;
    world.make(".host.0/a");
    world.make(".host.0/a/m");
    world.mount(".host.0/a/m");
    world.mount("7/sub");
    world.mount(".host.0/d");
    const std::string name(250, 'n');
    const UniqueFd host{::open((world.path() + "/.host.0").c_str(), O_PATH | O_DIRECTORY)};
    std::vector<int> chain{host.get()};
    while (chain.size() * name.size() < PATH_MAX + name.size()) {
        REQUIRE(::mkdirat(chain.back(), name.c_str(), 0755) == 0);
        chain.push_back(::openat(chain.back(), name.c_str(), O_PATH | O_DIRECTORY));
    }
    REQUIRE(::renameat(host.get(), "a", chain.back(), "a") == 0);
    CHECK_FALSE(detach_user_mounts(world.path(), 7));
    CHECK_FALSE(world.is_mounted("7/sub"));
    CHECK_FALSE(world.is_mounted(".host.0/d"));
    REQUIRE(::renameat(chain.back(), "a", host.get(), "a") == 0);
    while (chain.size() > 1) {
        ::close(chain.back());
        chain.pop_back();
        CHECK(::unlinkat(chain.back(), name.c_str(), AT_REMOVEDIR) == 0);
    }
    CHECK(detach_user_mounts(world.path(), 7));
    CHECK_FALSE(world.is_mounted(".host.0/a/m"));
}
