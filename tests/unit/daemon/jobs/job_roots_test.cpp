// Tests that a daemon with another StageRoot finds and removes a job's directory.
#include "stager/daemon/jobs/job_roots.h"

#include "stager/daemon/jobs/job_directory.h"
#include "stager/daemon/jobs/verdict_store.h"
#include "stager/daemon/stage/registry.h"
#include "tests/unit/daemon/services_world.h"
#include "tests/unit/root.h"
#include "tests/unit/spawn/spawn_world.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>

namespace stage {
namespace {

constexpr Owner kRootsUser{.uid = kUnknownUid, .gid = kUnknownUid};

/// A job with a directory below the StageRoot of before, and that of today.
class RootsWorld {
  public:
    RootsWorld() {
        world.config.allow_ram_stage_root = true;
        world.config.stage_root = before;
        const auto root = roots.to_stage(42);
        REQUIRE(root);
        REQUIRE(make_job_directory(*root, 42, kRootsUser));
        world.config.stage_root = today;
    }
    [[nodiscard]] static bool exists(const std::string& path) {
        return ::access(path.c_str(), F_OK) == 0;
    }
    [[nodiscard]] std::string directory(std::uint32_t job_id) {
        return job_directory(world.config, world.services->verdicts, job_id);
    }

    ServicesWorld world;
    std::string before = world.scratch.path("before");
    std::string today = world.scratch.path("today");
    JobRoots roots{world.config, world.services->verdicts};
};

}  // namespace

TEST_CASE("a job keeps its StageRoot for as long as its directory is there", "[root]") {
    if (!is_root()) {
        return;
    }
    RootsWorld world;
    const auto old = world.roots.to_stage(42);
    REQUIRE(old);
    CHECK(owner_of(*old, 42));
    CHECK(world.directory(42) == world.before + "/42");
    const auto other = world.roots.to_stage(43);
    REQUIRE(other);
    CHECK_FALSE(owner_of(*other, 42));
    CHECK(world.directory(43) == world.today + "/43");
    REQUIRE(::rmdir((world.before + "/42").c_str()) == 0);
    REQUIRE(world.roots.to_stage(42));
    CHECK(world.directory(42) == world.today + "/42");
    REQUIRE(::rmdir(world.before.c_str()) == 0);
    CHECK(world.roots.to_remove(42));
    CHECK_FALSE(RootsWorld::exists(world.before));
}

TEST_CASE("a stage begins although RunDir takes no record of it", "[root]") {
    if (!is_root()) {
        return;
    }
    RootsWorld world;
    REQUIRE(::unlink(world.world.scratch.path("verdicts/42.root").c_str()) == 0);
    REQUIRE(::rmdir(world.world.scratch.path("verdicts").c_str()) == 0);
    CHECK(world.roots.to_stage(43));
    CHECK(world.directory(43) == world.today + "/43");
    CHECK(world.world.services->verdicts.root_of(43) == world.today);
}

TEST_CASE("files below an earlier StageRoot are removed with their job", "[root]") {
    if (!is_root()) {
        return;
    }
    RootsWorld world;
    Registry registry{*world.world.services};
    bool answered = false;
    const auto answer = [&](const Answer&) { answered = true; };
    SECTION("at its end") {
        registry.on_request(EndRequest{.job_id = 42, .step_id = kWholeJob}, answer);
    }
    SECTION("at that of the only step that staged") {
        registry.on_request(EndRequest{.job_id = 42, .step_id = 3}, answer);
    }
    world.world.run_until([&] { return answered; });
    CHECK_FALSE(RootsWorld::exists(world.before + "/42"));
    CHECK(world.world.services->verdicts.rooted().empty());
}

TEST_CASE("a StageRoot that is gone is forgotten, one that can't be reached is not", "[root]") {
    if (!is_root()) {
        return;
    }
    RootsWorld world;
    Registry registry{*world.world.services};
    bool answered = false;
    bool is_gone = false;
    SECTION("gone") {
        REQUIRE(::rmdir((world.before + "/42").c_str()) == 0);
        REQUIRE(::rmdir(world.before.c_str()) == 0);
        is_gone = true;
    }
    SECTION("another's") {
        REQUIRE(::chown(world.before.c_str(), kUnknownUid, kUnknownUid) == 0);
    }
    registry.on_request(EndRequest{.job_id = 42, .step_id = kWholeJob},
                        [&](const Answer&) { answered = true; });
    world.world.run_until([&] { return answered; });
    CHECK(world.world.services->verdicts.rooted().empty() == is_gone);
}

}  // namespace stage
