// Tests that a check of a disk that hangs ends.
#include "stager/daemon/push/local_preflight.h"

#include "tests/unit/daemon/services_world.h"
#include "tests/unit/root.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>

namespace stage {
namespace {

/// A worker that never says anything, as one does whose file system hangs.
void install_hanging_worker(ServicesWorld& world) {
    const std::string path =
        world.scratch.write("libexec/stagecast-worker", "#!/bin/sh\nexec sleep 600\n");
    REQUIRE(::chmod(path.c_str(), 0755) == 0);
    REQUIRE(::chmod(world.scratch.path().c_str(), 0755) == 0);
}

}  // namespace

TEST_CASE("a look that hangs fails by StageTimeout, a comparison for the user has its time",
          "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world;
    install_hanging_worker(world);
    world.config.stage_timeout = std::chrono::milliseconds{20};
    const PreflightOrder look{.specs = "1;-,/a,"};
    PreflightOrder compare = look;
    compare.compares = true;
    PreflightOrder limited = compare;
    compare.is_limited = false;
    std::optional<Result<WorkerLook>> looked;
    std::optional<Result<WorkerLook>> read;
    bool is_compared = false;
    const LocalPreflight reading{world.services->basics,
                                 world.services->closers,
                                 limited,
                                 [&](Result<WorkerLook> result) { read = std::move(result); }};
    const LocalPreflight comparing{world.services->basics,
                                   world.services->closers,
                                   compare,
                                   [&](const Result<WorkerLook>&) { is_compared = true; }};
    const LocalPreflight looking{
        world.services->basics, world.services->closers, look, [&](Result<WorkerLook> result) {
            looked = std::move(result);
        }};
    world.run_until([&] { return looked.has_value() && read.has_value(); });
    REQUIRE_FALSE(*looked);
    CHECK_FALSE(*read);
    CHECK_THAT(looked->error().sentence(), Catch::Contains("StageTimeout"));
    CHECK_FALSE(is_compared);
}

}  // namespace stage
