// Tests a step of a job that no prolog has announced.
#include "spank/host/daemon_talk.h"
#include "spank/host/names.h"
#include "spank/job/step_side.h"
#include "tests/unit/spank/fake_daemon.h"
#include "tests/unit/spank/step_host.h"

#include <catch2/catch.hpp>

using namespace stage;

// slurmd of 22.05 runs no prolog where it remembers an earlier life of the job.
TEST_CASE("a step of a job that no prolog has announced has it staged then") {
    FakeHost host = step_host();
    host.job[kJobSign] = kSpecs;
    host.job["SLURM_JOB_NODELIST"] = "n[3-5]";
    FakeDaemon daemon;
    daemon.answers = {Answer{Verdict{}}, Answer{good()}};
    StepSide side{kArguments, daemon.ask(), daemon.begin()};
    side.on_option();
    side.on_step_begins(host);
    REQUIRE(daemon.asked.size() == 2);
    CHECK(std::get<StageRequest>(daemon.asked[1]) ==
          StageRequest{.key = {.job_id = 7, .step_id = kWholeJob, .restart = 1},
                       .uid = 2001,
                       .gid = 2002,
                       .node_name = "n3",
                       .node_list = "n[3-5]",
                       .work_dir = {},
                       .specs = kSpecs,
                       .is_late = true});
    CHECK(side.may_start(host));
    CHECK(host.job[kStageFiles] == "/stage/7/a\n/s/b");
}

TEST_CASE("where the job's environment has no specs nothing is staged late") {
    FakeHost host = step_host();
    host.job[kJobSign] = kSomething;
    FakeDaemon daemon;
    daemon.answer = Answer{Verdict{}};
    StepSide side{kArguments, daemon.ask(), daemon.begin()};
    side.on_option();
    side.on_step_begins(host);
    CHECK(daemon.asked.size() == 1);
    CHECK_FALSE(side.may_start(host));
    CHECK_THAT(host.errors.at(0), Catch::Contains("knows nothing of this job"));
}
