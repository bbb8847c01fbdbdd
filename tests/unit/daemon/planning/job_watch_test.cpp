#include "stager/daemon/planning/job_watch.h"

#include "tests/unit/daemon/services_world.h"
#include "tests/unit/root.h"
#include "tests/unit/spawn/spawn_world.h"

#include <catch2/catch.hpp>

using namespace stage;

namespace {
constexpr StageKey kKey{.job_id = 42, .step_id = kWholeJob, .restart = 1};
}

TEST_CASE("only a job that runs, in this life, is still wanted") {
    const auto reason = [](SlurmJobState state, std::uint32_t restart, std::string word) {
        return reason_to_stop(
            kKey, {.state = state, .restart_count = restart, .word = std::move(word)});
    };
    CHECK_FALSE(reason(SlurmJobState::alive, 1, "RUNNING"));
    CHECK_THAT(*reason(SlurmJobState::alive, 2, "RUNNING"), Catch::Contains("requeued"));
    CHECK_THAT(*reason(SlurmJobState::ended, 1, "CANCELLED"), Catch::Contains("CANCELLED"));
    CHECK(reason(SlurmJobState::absent, 1, "UNKNOWN"));
    CHECK_FALSE(reason(SlurmJobState::suspended, 1, "SUSPENDED"));
    CHECK_THAT(*reason(SlurmJobState::suspended, 2, "SUSPENDED"), Catch::Contains("requeued"));
    CHECK(reason(SlurmJobState::completing, 1, "TIMEOUT"));
}

TEST_CASE("progress is reported after 10 s, 30 s, a minute, and ever more rarely") {
    using std::chrono::seconds;
    std::vector<std::int64_t> times;
    for (Duration last{}; times.size() < 6;) {
        last = next_progress_time(last);
        times.push_back(std::chrono::duration_cast<seconds>(last).count());
    }
    CHECK(times == std::vector<std::int64_t>{10, 30, 60, 120, 240, 480});
}

TEST_CASE("nothing was reported before its time, and the last order names the job's life",
          "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world;
    world.config.admin_comment = false;
    JobWatch watch{world.loop(),
                   world.services->basics.children,
                   world.config,
                   kKey,
                   {.on_over = [](const std::string& /*why*/) {},
                    .progress = [] { return std::string{}; }}};
    watch.start(SlurmJob{.state = SlurmJobState::alive, .restart_count = 1, .word = "RUNNING"});
    CHECK_FALSE(watch.has_reported_progress());
    const ProgressOrder order = watch.last_order("staged");
    CHECK(order.job_id == 42);
    CHECK(order.restart == 1);
    CHECK_FALSE(order.comments);
    CHECK(order.is_last);
    CHECK(order.sentence == "stagecast: staged");
}

TEST_CASE("a job's state that slurmctld has just given counts as a look at it", "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world;
    std::string why;
    const StageKey step{.job_id = 42, .step_id = 3, .restart = 0};
    JobWatch watch{world.loop(),
                   world.services->basics.children,
                   world.config,
                   step,
                   {.on_over = [&](const std::string& said) { why = said; },
                    .progress = [] { return std::string{}; }}};
    // A step from outside of the job does not know the job's life: that is no reason to stop.
    watch.start(SlurmJob{.state = SlurmJobState::alive, .restart_count = 2, .word = "RUNNING"});
    CHECK(why.empty());
    watch.start(
        SlurmJob{.state = SlurmJobState::ended, .restart_count = 2, .word = "CANCELLED"});
    CHECK_THAT(why, Catch::Contains("CANCELLED"));
}
