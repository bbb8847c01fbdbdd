// Tests that a removal that takes long delays no file that is to go at its job's end.
#include "stager/daemon/jobs/cleaner.h"

#include "stager/daemon/jobs/job_directory.h"
#include "stager/daemon/jobs/job_roots.h"
#include "stager/spawn/cleanup_lists.h"
#include "tests/unit/daemon/services_world.h"
#include "tests/unit/root.h"
#include "tests/unit/spawn/spawn_world.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace stage {
namespace {

constexpr Owner kUser{.uid = kUnknownUid, .gid = kUnknownUid};

/// A process that opens a directory waits until this object goes.
class HeldDirectory {
  public:
    explicit HeldDirectory(const std::string& path)
        : group_{::fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC | FAN_NONBLOCK, O_RDONLY)},
          is_marked_{group_ && ::fanotify_mark(group_.get(),
                                               FAN_MARK_ADD,
                                               FAN_OPEN_PERM | FAN_ONDIR,
                                               AT_FDCWD,
                                               path.c_str()) == 0} {}

    [[nodiscard]] bool is_possible() const { return is_marked_; }
    /// A process waits.
    [[nodiscard]] bool is_wanted() {
        fanotify_event_metadata event{};
        if (::read(group_.get(), &event, sizeof event) == sizeof event) {
            const UniqueFd directory{event.fd};
            is_wanted_ = true;
        }
        return is_wanted_;
    }
    /// All that wait may go on: a group that is closed allows everything.
    void let_go() { group_.reset(); }

  private:
    UniqueFd group_;
    bool is_marked_;
    bool is_wanted_ = false;
};

/// Two jobs of a user: 42 with a directory in its directory, 43 with a file elsewhere.
struct CleanerWorld {
    CleanerWorld() {
        REQUIRE(::chmod(world.scratch.path("").c_str(), 0711) == 0);
        world.config.allow_ram_stage_root = true;
        world.config.stage_root = world.scratch.path("stages");
        const auto root = roots.to_stage(42);
        REQUIRE(root);
        REQUIRE(make_job_directory(*root, 42, kUser));
        REQUIRE(::mkdir(inner.c_str(), 0700) == 0);
        REQUIRE(::chown(inner.c_str(), kUser.uid, kUser.gid) == 0);
        std::ofstream{inner + "/file"} << "content";  // (An empty one is removed unopened.)
        auto list = CleanupList::open(*root, cleanup_list_name(kUser.uid, kUser.gid, {"43"}));
        REQUIRE(list);
        REQUIRE(list->add({file}));
        REQUIRE(::mkdir(world.scratch.path("outside").c_str(), 0755) == 0);
        REQUIRE(::chown(world.scratch.path("outside").c_str(), kUser.uid, kUser.gid) == 0);
        std::ofstream{file} << "content";
    }
    [[nodiscard]] static bool exists(const std::string& path) {
        return ::access(path.c_str(), F_OK) == 0;
    }

    ServicesWorld world;
    std::string inner = world.scratch.path("stages") + "/42/inner";
    std::string file = world.scratch.path("outside") + "/file";
    JobRoots roots{world.config, world.services->verdicts};
    Cleaner cleaner{world.services->basics, world.services->verdicts, roots};
};

}  // namespace

TEST_CASE("a file with temp does not wait for another job's directory", "[root]") {
    if (!is_root()) {
        return;
    }
    CleanerWorld one;
    HeldDirectory held{one.inner};
    if (!held.is_possible()) {
        return;  // (A container without the capability, or a kernel without the events.)
    }
    bool is_first_done = false;
    bool is_second_done = false;
    one.cleaner.remove(42, kWholeJob, [&] { is_first_done = true; });
    one.world.run_until([&] { return held.is_wanted(); });
    one.cleaner.remove(43, kWholeJob, [&] { is_second_done = true; });
    one.world.run_until([&] { return is_second_done; });
    CHECK_FALSE(CleanerWorld::exists(one.file));
    CHECK_FALSE(is_first_done);
    CHECK(CleanerWorld::exists(one.inner));
    held.let_go();
    one.world.run_until([&] { return is_first_done; });
    CHECK_FALSE(CleanerWorld::exists(one.inner));
}

}  // namespace stage
