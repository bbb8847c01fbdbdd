#include "spank/job/step_side.h"

#include "spank/host/daemon_talk.h"
#include "spank/host/names.h"
#include "tests/unit/spank/fake_daemon.h"
#include "tests/unit/spank/step_host.h"

#include <catch2/catch.hpp>

using namespace stage;

TEST_CASE("a step without the option asks no daemon and starts") {
    FakeHost host = step_host();
    const auto before = host.job;
    FakeDaemon daemon;
    StepSide side{kArguments, daemon.ask(), daemon.begin()};
    side.on_step_begins(host);
    CHECK(side.may_start(host));
    side.on_breakdown();
    CHECK(side.may_start(host));
    side.on_step_ends(host);
    CHECK(daemon.asked.empty());
    CHECK(host.job == before);
}

TEST_CASE("a good verdict is published once per step") {
    FakeHost host = step_host();
    FakeDaemon daemon;
    Verdict verdict = good();
    StepSide side{kArguments, daemon.ask(), daemon.begin()};
    SECTION("known by the option") {
        side.on_option();
    }
    SECTION("known by the job's environment (sbatch --export=NONE)") {
        host.job[kJobSign] = kSpecs;
    }
    SECTION("inherited by a step, twice over") {
        host.job[kJobSign] = kSpecs;
        side.on_option();
        side.on_option();
    }
    SECTION("partial") {
        side.on_option();
        verdict.state = VerdictState::partial;
    }
    daemon.answer = Answer{verdict};
    side.on_step_begins(host);
    REQUIRE(daemon.asked.size() == 1);
    CHECK(std::get<QueryRequest>(daemon.asked[0]).key ==
          StageKey{.job_id = 7, .step_id = kWholeJob, .restart = kLatestLife});
    CHECK(host.job[kStageDir] == "/stage/7");
    CHECK(host.job[kStageFiles] == "/stage/7/a\n/s/b");
    CHECK(host.job[kJobStatus] == to_string(verdict.state));
    CHECK(side.may_start(host));
    CHECK(side.may_start(host));
    CHECK(daemon.asked.size() == 1);
    side.on_step_ends(host);
    CHECK(daemon.asked.size() == 1);
}

TEST_CASE("a name with a line break stays one line") {
    FakeHost host = step_host();
    FakeDaemon daemon;
    Verdict verdict = good();
    verdict.paths = {"/stage/7/a\nb", "/stage/7/c\\d"};
    daemon.answer = Answer{verdict};
    StepSide side{kArguments, daemon.ask(), daemon.begin()};
    side.on_option();
    side.on_step_begins(host);
    CHECK(host.job[kStageFiles] == "/stage/7/a\\nb\n/stage/7/c\\d");
}

TEST_CASE("a library directory comes first in LD_LIBRARY_PATH, once, and is no file") {
    FakeHost host = step_host();
    FakeDaemon daemon;
    Verdict verdict = good();
    verdict.paths = {"/stage/7/prog", "/stage/7/.stagecast/libs/0/$ORIGIN/"};
    daemon.answer = Answer{verdict};
    host.job["LD_LIBRARY_PATH"] = "/opt/lib";
    for (int step = 0; step < 2; ++step) {
        StepSide side{kArguments, daemon.ask(), daemon.begin()};
        side.on_option();
        side.on_step_begins(host);
        CHECK(host.job["LD_LIBRARY_PATH"] == "/stage/7/.stagecast/libs/0/$ORIGIN:/opt/lib");
        CHECK(host.job[kStageFiles] == "/stage/7/prog");
    }
}

TEST_CASE("the group's failure stops every task and is reported once per step") {
    FakeHost host = step_host();
    FakeDaemon daemon;
    daemon.answer = Answer{
        Verdict{.state = VerdictState::failed, .sentence = "node n1: /a: no\x1b[2Jroom"}};
    StepSide side{kArguments, daemon.ask(), daemon.begin()};
    side.on_option();
    side.on_step_begins(host);
    for (const std::uint32_t node : {0U, 1U}) {
        for (const std::uint32_t task : {0U, 1U, 2U}) {
            host.items[Item::node_id] = node;
            host.items[Item::task] = task;
            CHECK_FALSE(side.may_start(host));
        }
    }
    REQUIRE(host.errors.size() == 1);
    CHECK(host.errors[0] == "stagecast: node n1: /a: no [2Jroom");
    CHECK(host.job[kJobStatus] == "failed");
}

TEST_CASE("an error that only this node knows is reported with the node's name") {
    FakeHost host = step_host();
    host.items[Item::node_id] = 1;
    FakeDaemon daemon;
    std::string part;
    SECTION("no daemon") {
        daemon.answer = Error{Blame::node, "stagecastd does not answer at /s"};
        part = "stagecastd does not answer at /s";
    }
    SECTION("a daemon that knows nothing") {
        daemon.answer = Answer{Verdict{}};
        part = "knows nothing of this job";
    }
    SECTION("a daemon that cannot decide") {
        daemon.answer = Answer{Verdict{.state = VerdictState::busy}};
        part = "StageTimeout";
    }
    SECTION("a daemon that refuses") {
        daemon.answer = Answer{Refused{.sentence = "another version"}};
        part = "another version";
    }
    SECTION("a daemon that answers another question") {
        daemon.answer = Answer{Ack{}};
        part = "answer does not fit the request";
    }
    StepSide side{kArguments, daemon.ask(), daemon.begin()};
    side.on_option();
    side.on_step_begins(host);
    CHECK_FALSE(side.may_start(host));
    REQUIRE(host.errors.size() == 1);
    CHECK_THAT(host.errors[0],
               Catch::StartsWith("stagecast: node n3: ") && Catch::Contains(part));
}

TEST_CASE("a task ends with 1 where the user is to blame, else with 75") {
    FakeHost host = step_host();
    FakeDaemon daemon;
    int expected = 75;
    const auto failed = [](Blame blame) {
        return Answer{
            Verdict{.state = VerdictState::failed, .blame = blame, .sentence = "node n1: no"}};
    };
    SECTION("the user") {
        daemon.answer = failed(Blame::user);
        expected = 1;
    }
    SECTION("a node") {
        daemon.answer = failed(Blame::node);
    }
    SECTION("stagecast itself") {
        daemon.answer = failed(Blame::internal);
    }
    SECTION("no daemon") {
        daemon.answer = Error{Blame::node, "stagecastd does not answer at /s"};
    }
    SECTION("a daemon that knows nothing, whatever stands beside that") {
        daemon.answer = Answer{Verdict{.state = VerdictState::unknown, .blame = Blame::user}};
    }
    SECTION("a daemon that cannot decide") {
        daemon.answer = Answer{Verdict{.state = VerdictState::busy, .blame = Blame::user}};
    }
    SECTION("a daemon that refuses a user's request") {
        daemon.answer = Answer{Refused{.blame = Blame::user, .sentence = "no"}};
        expected = 1;
    }
    SECTION("a daemon that answers another question") {
        daemon.answer = Answer{Ack{}};
    }
    StepSide side{kArguments, daemon.ask(), daemon.begin()};
    side.on_option();
    side.on_step_begins(host);
    CHECK_FALSE(side.may_start(host));
    CHECK(side.exit_status() == expected);
}

TEST_CASE("where a script announces jobs, the script is suspected, and not the plugin") {
    const Answer unknown{Verdict{}};
    CHECK_THAT(objection(unknown, false).value_or(""),
               Catch::Contains("could slurmd not load"));
    const std::string sentence = objection(unknown, true).value_or("");
    CHECK_THAT(sentence, Catch::Contains("StageFrom=prolog-script"));
    CHECK_THAT(sentence, Catch::Contains("`stagecast prolog`") && !Catch::Contains("plugin"));
}

TEST_CASE("a job made inside a job that stages does not look for its files") {
    FakeHost host = step_host(0xfffffffbU);
    host.job[kJobSign] = kNothing;
    FakeDaemon daemon;
    StepSide side{kArguments, daemon.ask(), daemon.begin()};
    side.on_option();  // Slurm forwards the inherited option all the same
    side.on_step_begins(host);
    CHECK(side.may_start(host));
    CHECK(daemon.asked.empty());
}

TEST_CASE("a step's own files are staged for the step, and end with it") {
    FakeHost host = step_host(5);
    host.job[kStepSpecs] = kSpecs;
    FakeDaemon daemon;
    Verdict verdict = good();
    verdict.stage_dir = "/stage/7/step.5";
    verdict.paths = {"/stage/7/step.5/a"};
    daemon.answer = Answer{verdict};
    StepSide side{kArguments, daemon.ask(), daemon.begin()};
    side.on_option();
    side.on_step_begins(host);
    REQUIRE(daemon.asked.size() == 1);
    CHECK(std::get<StageRequest>(daemon.asked[0]) ==
          StageRequest{.key = {.job_id = 7, .step_id = 5, .restart = 1},
                       .uid = 2001,
                       .gid = 2002,
                       .node_name = "n3",
                       .node_list = "n[3-4]",
                       .specs = kSpecs});
    CHECK(daemon.waits == 0);
    CHECK_FALSE(host.job.contains(kStageDir));
    FakeHost task = host;
    side.await_files(task);
    CHECK(daemon.waits == 1);
    CHECK(task.job[kStageDir] == "/stage/7");
    CHECK(task.job[kStepDir] == "/stage/7/step.5");
    CHECK(task.job[kStageFiles] == "/stage/7/step.5/a");
    CHECK_FALSE(host.job.contains(kStepSpecs));
    CHECK(side.may_start(task));
    side.on_step_ends(host);
    REQUIRE(daemon.asked.size() == 2);
    CHECK(std::get<EndRequest>(daemon.asked[1]) == EndRequest{.job_id = 7, .step_id = 5});
}

TEST_CASE("a container's files are waited for before there are tasks") {
    FakeHost host = step_host(5);
    host.job[kStepSpecs] = "1,c;-,/data/image,";
    FakeDaemon daemon;
    Verdict verdict = good();
    verdict.stage_dir = "/stage/7/step.5";
    daemon.answer = Answer{verdict};
    StepSide side{kArguments, daemon.ask(), daemon.begin()};
    side.on_step_begins(host);
    CHECK(daemon.waits == 1);
    CHECK(host.job[kStepDir] == "/stage/7/step.5");
    side.await_files(host);
    CHECK(daemon.waits == 1);
    CHECK(side.may_start(host));
}

TEST_CASE("a step sees its job's files beside its own") {
    FakeHost host = step_host(5);
    host.job[kStepSpecs] = kSpecs;
    host.job[kJobSign] = kSpecs;
    FakeDaemon daemon;
    daemon.answer = Answer{good()};
    StepSide side{kArguments, daemon.ask(), daemon.begin()};
    side.on_step_begins(host);
    CHECK(host.job[kStageFiles] == "/stage/7/a\n/s/b");
    daemon.answer = Answer{Verdict{.state = VerdictState::partial,
                                   .stage_dir = "/stage/7/step.5",
                                   .paths = {"/stage/7/step.5/c"}}};
    side.await_files(host);
    CHECK(host.job[kStageFiles] == "/stage/7/a\n/s/b\n/stage/7/step.5/c");
    CHECK(host.job[kStageDir] == "/stage/7");
    CHECK(host.job[kJobStatus] == "partial");
    CHECK(side.may_start(host));
}

TEST_CASE(
    "on a dropped node no task starts, and its first one says why; others know the node") {
    FakeHost host = step_host();
    host.job[kJobSign] = kSpecs;
    FakeDaemon daemon;
    StepSide side{kArguments, daemon.ask(), daemon.begin()};
    SECTION("the dropped one, not the step's first") {
        daemon.answer = Answer{Verdict{.state = VerdictState::dropped,
                                       .blame = Blame::node,
                                       .sentence = "node n3: gone",
                                       .dropped_nodes = "n3"}};
        host.items[Item::node_id] = 1;
        side.on_step_begins(host);
        CHECK_FALSE(side.may_start(host));
        CHECK(side.exit_status() == 75);
        CHECK(host.errors == std::vector<std::string>{"stagecast: node n3: gone"});
        CHECK(host.job[kJobStatus] == "failed");
    }
    SECTION("another one") {
        Verdict verdict = good();
        verdict.state = VerdictState::partial;
        verdict.dropped_nodes = "n3,n5";
        daemon.answer = Answer{verdict};
        side.on_step_begins(host);
        CHECK(side.may_start(host));
        CHECK(host.job[kJobStatus] == "partial");
        CHECK(host.job[kDroppedNodes] == "n3,n5");
    }
}

TEST_CASE("a step's failed staging stops every task, and is reported once") {
    FakeHost host = step_host(5);
    host.job[kStepSpecs] = kSpecs;
    FakeDaemon daemon;
    daemon.answer = Answer{Verdict{.state = VerdictState::failed, .sentence = "node n1: no"}};
    for (const std::uint32_t task : {0U, 1U, 2U}) {
        StepSide side{kArguments, daemon.ask(), daemon.begin()};
        side.on_step_begins(host);
        host.job[kStepSpecs] = kSpecs;
        host.items[Item::task] = task;
        side.await_files(host);
        CHECK_FALSE(side.may_start(host));
        CHECK_FALSE(host.job.contains(kStageFiles));
    }
    CHECK(daemon.waits == 3);
    CHECK(host.errors == std::vector<std::string>{"stagecast: node n1: no"});
}

TEST_CASE("a step of a job that failed does not begin to stage") {
    FakeHost host = step_host(5);
    host.job[kStepSpecs] = kSpecs;
    host.job[kJobSign] = kSpecs;
    FakeDaemon daemon;
    daemon.answer = Answer{Verdict{.state = VerdictState::failed, .sentence = "node n1: no"}};
    StepSide side{kArguments, daemon.ask(), daemon.begin()};
    side.on_step_begins(host);
    CHECK(daemon.asked.size() == 1);
    CHECK_FALSE(side.may_start(host));
    CHECK_FALSE(host.job.contains(kStepSpecs));
}

TEST_CASE("a breakdown of ours stops a job that asked for files, and no other") {
    FakeHost host = step_host();
    FakeDaemon daemon;
    StepSide side{kArguments, daemon.ask(), daemon.begin()};
    side.on_option();
    side.on_breakdown();
    CHECK_FALSE(side.may_start(host));
    CHECK_THAT(host.errors.at(0), Catch::Contains("broke"));
    CHECK(side.exit_status() == 75);
}
