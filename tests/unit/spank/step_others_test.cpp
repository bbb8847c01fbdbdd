// Tests steps that differ from their job.
#include "spank/host/names.h"
#include "spank/job/step_side.h"
#include "tests/unit/spank/fake_daemon.h"
#include "tests/unit/spank/step_host.h"

#include <catch2/catch.hpp>

using namespace stage;

TEST_CASE("a step from outside of its job asks the daemon whether the job has files") {
    FakeHost host = step_host();
    host.job[kJobSign] = kAsk;
    host.job[kStageDir] = "/stage/6";
    FakeDaemon daemon;
    StepSide side{kArguments, daemon.ask(), daemon.begin()};
    SECTION("it has") {
        daemon.answer = Answer{good()};
        side.on_step_begins(host);
        CHECK(host.job[kStageDir] == "/stage/7");
        CHECK(side.may_start(host));
    }
    SECTION("its staging failed") {
        daemon.answer = Answer{Verdict{.state = VerdictState::failed, .sentence = "no"}};
        side.on_step_begins(host);
        CHECK_FALSE(side.may_start(host));
    }
    SECTION("it has none") {
        side.on_step_begins(host);
        CHECK(side.may_start(host));
        CHECK_FALSE(host.job.contains(kStageDir));
    }
    SECTION("there is no daemon") {
        daemon.answer = Error{Blame::node, "no daemon"};
        side.on_step_begins(host);
        CHECK(side.may_start(host));
    }
}

TEST_CASE("a step's lists are below the client's directory, as Slurm gives a step none") {
    FakeHost host = step_host(5);
    host.job[kStepSpecs] = "1,w/home/alice;-l,/home/alice/list,";
    FakeDaemon daemon;
    StepSide side{kArguments, daemon.ask(), daemon.begin()};
    side.on_step_begins(host);
    REQUIRE(daemon.asked.size() == 1);
    CHECK(std::get<StageRequest>(daemon.asked[0]).work_dir == "/home/alice");
}

TEST_CASE("a component of a heterogeneous job is judged by its daemon") {
    FakeHost host = step_host();
    host.job["SLURM_HET_SIZE"] = "2";
    host.job["SLURM_JOB_ID_HET_GROUP_0"] = "6";
    FakeDaemon daemon;
    StepSide side{kArguments, daemon.ask(), daemon.begin()};
    SECTION("without files, regardless of the shared environment") {
        host.job[kJobSign] = kSpecs;
        host.job[kStageDir] = "/stage/6";
        side.on_option();
        side.on_step_begins(host);
        CHECK(side.may_start(host));
        CHECK_FALSE(host.job.contains(kStageDir));
    }
    SECTION("with files, though the shared environment has none") {
        daemon.answer = Answer{Verdict{.state = VerdictState::failed, .sentence = "no"}};
        side.on_step_begins(host);
        CHECK_FALSE(side.may_start(host));
    }
    SECTION("nothing speaks of files, and there is no daemon") {
        daemon.answer = Error{Blame::node, "no daemon"};
        side.on_step_begins(host);
        CHECK(side.may_start(host));
    }
    SECTION("its batch step knows its own") {
        host.items[Item::step_id] = 0xfffffffbU;
        host.job[kJobSign] = kSpecs;
        side.on_step_begins(host);
        CHECK_FALSE(side.may_start(host));
    }
    SECTION("a step of it over more than itself cannot stage") {
        daemon.answer = Answer{good()};
        host.job[kStepSpecs] = kSpecs;
        host.job["SLURM_STEP_NUM_NODES"] = "4";
        side.on_step_begins(host);
        CHECK_FALSE(side.may_start(host));
        CHECK_THAT(host.errors.at(0), Catch::Contains("several components"));
    }
}

TEST_CASE("srun -Z with files is refused where its task would start") {
    FakeHost host = step_host();
    host.items[Item::job_id] = 4294908550U;
    FakeDaemon daemon;
    StepSide side{kArguments, daemon.ask(), daemon.begin()};
    side.on_option();
    side.on_step_begins(host);
    CHECK(daemon.asked.empty());
    CHECK_FALSE(side.may_start(host));
    CHECK_THAT(host.errors.at(0), Catch::Contains("srun -Z"));
    CHECK(side.exit_status() == 1);
}
