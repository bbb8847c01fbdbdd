// Tests a client whose environment describes a job.
#include "tests/unit/spank/submit_world.h"

using namespace stage;

TEST_CASE("a step with a list has the directory of relative names") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::local);
    host.process["SLURM_JOB_ID"] = "7";
    SubmitSide side = world.side();
    std::string expected;
    SECTION("here") {
        side.on_option("@a", false);
        expected = world.directory;
    }
    SECTION("where its tasks will be") {
        host.arguments = {GENERATE("--chdir=sub", "-Dsub", "--chd=sub"), "true"};
        side.on_option("@a", false);
        expected = world.directory + "/sub";
    }
    SECTION("not without a list") {
        side.on_option("a", false);
    }
    REQUIRE(side.on_options_parsed(host));
    CHECK(options_in(host.process[kStepSpecs]).work_dir == expected);
}

TEST_CASE("a new job knows nothing of an old one, whatever is left of its environment") {
    const SubmitWorld world;
    const Context context = GENERATE(Context::local, Context::allocator);
    FakeHost host = world.host(context);
    host.process[GENERATE(kStageDir, kStageFiles, kJobStatus, kStepDir)] = "old";
    SubmitSide side = world.side();
    REQUIRE(side.on_options_parsed(host));
    for (const char* const name : {kStageDir, kStageFiles, kJobStatus, kStepDir}) {
        CHECK_FALSE(host.process.contains(name));
    }
    CHECK(host.process[kJobSign] == kNothing);
    CHECK(host.handed[kHandedName] == kNothing);
}

TEST_CASE("a step that is begun from outside of its job has the nodes ask") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::local);
    bool asks = true;
    SECTION("--jobid") {
        host.arguments = {"--jobid=7", "true"};
    }
    SECTION("the number alone") {
        host.process["SLURM_JOB_ID"] = "7";
    }
    SECTION("in another job") {
        host.process = {{"SLURM_JOB_ID", "7"},
                        {"SLURM_JOBID", "6"},
                        {"SLURM_JOB_NODELIST", "n0"},
                        {kJobSign, "1;-,/x,"},
                        {kStageDir, "/stage/6"}};
    }
    SECTION("not in a job without files") {
        host.process = {{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "n0"}};
        asks = false;
    }
    SECTION("not where there is no job yet") {
        asks = false;
    }
    SubmitSide side = world.side();
    REQUIRE(side.on_options_parsed(host));
    CHECK((host.process[kJobSign] == kAsk) == asks);
    CHECK_FALSE(host.process.contains(kStageDir));
    CHECK(host.handed.empty());
}

TEST_CASE("a step of another job than the one around it does not look for this one's files") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::local);
    const bool is_other = GENERATE(true, false);
    host.process = {{"SLURM_JOB_ID", "7"}, {kJobSign, "1;-,/x,"}, {kStageDir, "/stage/7"}};
    host.process["SLURM_JOB_NODELIST"] = "n0";
    host.arguments = {is_other ? "--jobid=8" : "--jobid=7", "--overlap", "nvidia-smi"};
    SubmitSide side = world.side();
    const bool has_own = GENERATE(true, false);
    if (has_own) {
        side.on_option("a", false);
    }
    REQUIRE(side.on_options_parsed(host));
    CHECK((host.process[kJobSign] == kAsk) == is_other);
    CHECK(host.process.contains(kStageDir) != is_other);
    CHECK(host.process.contains(kStepSpecs) == has_own);
}
