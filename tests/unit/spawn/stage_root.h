// Makes a StageRoot with a job's directory, and a place outside it, for tests of removal.
#pragma once

#include "stager/removal/empty_directory.h"
#include "stager/spawn/remove_tree.h"
#include "tests/unit/spawn/spawn_world.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace stage::test {

inline const UserIdentity kUser{.uid = kUnknownUid, .gid = kUnknownUid, .name = {}};

inline bool exists(const std::string& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0;
}

inline void write_file(const std::string& path) {
    std::ofstream{path} << "content";
    REQUIRE(exists(path));
}

/// StageRoot with a job's directory 42 in it, and a place outside.
class StageRoot {
  public:
    StageRoot() {
        REQUIRE(::mkdtemp(base_.data()) != nullptr);
        REQUIRE(::chmod(base_.c_str(), 0755) == 0);
        for (const std::string& path : {root(), job(), outside()}) {
            REQUIRE(::mkdir(path.c_str(), 0755) == 0);
        }
        if (::geteuid() == 0) {
            REQUIRE(::chown(job().c_str(), kUnknownUid, kUnknownUid) == 0);
        }
        fd_.reset(::open(root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        REQUIRE(fd_);
    }
    StageRoot(const StageRoot&) = delete;
    StageRoot& operator=(const StageRoot&) = delete;
    ~StageRoot() {
        const UniqueFd base{::open(base_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
        static_cast<void>(empty_directory(base.get()));
        ::rmdir(base_.c_str());
    }
    [[nodiscard]] std::string root() const { return base_ + "/root"; }
    [[nodiscard]] std::string job() const { return base_ + "/root/42"; }
    [[nodiscard]] std::string outside() const { return base_ + "/outside"; }
    [[nodiscard]] int fd() const { return fd_.get(); }

    /// Runs `script` in the job's directory as its user.
    void as_user(const std::string& script) const {
        SpawnWorld world;
        ProgramRequest program = SpawnWorld::shell("set -e; cd " + job() + "; " + script);
        if (::geteuid() == 0) {
            program.user = kUser;
        }
        REQUIRE(world.spawner().start(program, {}));
        world.next(SpawnEvent::Kind::started);
        REQUIRE(world.next(SpawnEvent::Kind::ended).status_text() == "exit status 0");
    }
    Status remove(std::vector<std::string> path = {"42"}) const {
        return remove_tree(fd_.get(), {.path = std::move(path), .user = kUser});
    }

  private:
    std::string base_ =
        (exists("/dev/shm") ? "/dev/shm" : "/tmp") + std::string{"/stagecast-remove-XXXXXX"};
    UniqueFd fd_;
};

}  // namespace stage::test
