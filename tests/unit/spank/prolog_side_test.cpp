#include "spank/job/prolog_side.h"

#include "spank/host/names.h"
#include "tests/unit/scratch.h"
#include "tests/unit/spank/fake_daemon.h"
#include "tests/unit/spank/fake_host.h"

#include <catch2/catch.hpp>

using namespace stage;

namespace {

FakeHost prolog_host() {
    FakeHost host{Context::job_script};
    host.items = {{Item::job_id, 7}, {Item::uid, 2001}, {Item::gid, 2002}};
    host.process = {{"SLURMD_NODENAME", "n3"},
                    {"SLURM_NODELIST", "n[0-7]"},
                    {"SLURM_JOB_WORK_DIR", "/home/u"},
                    {"SLURM_JOB_RESTART_COUNT", "2"},
                    {kPrologSpecs, kSpecs}};
    return host;
}

}  // namespace

TEST_CASE("a prolog without specs is ignored") {
    FakeHost host = prolog_host();
    FakeDaemon daemon;
    const PrologSide side{kArguments, daemon.ask()};
    CHECK(side.is_concerned(host));
    CHECK(side.is_to_conclude(host));
    host.process[kPrologSpecs] = kNothing;
    CHECK_FALSE(side.is_concerned(host));
    CHECK_FALSE(side.is_to_conclude(host));
    host.process.erase(kPrologSpecs);
    CHECK_FALSE(side.is_concerned(host));
}

TEST_CASE("an epilog ends a job that a step has announced") {
    const Scratch run;
    FakeHost host = prolog_host();
    host.process.erase(kPrologSpecs);
    Arguments arguments;
    arguments.socket_path = run.path() + "/stagecastd.sock";
    FakeDaemon daemon;
    const PrologSide side{arguments, daemon.ask()};
    REQUIRE(::mkdir((run.path() + "/jobs").c_str(), 0700) == 0);
    CHECK_FALSE(side.is_to_conclude(host));
    std::ofstream{run.path() + "/jobs/7.root"} << "/stage";
    CHECK(side.is_to_conclude(host));
    CHECK_FALSE(side.is_concerned(host));
}

TEST_CASE("a prolog announces the job with Slurm's own values") {
    const FakeHost host = prolog_host();
    FakeDaemon daemon;
    daemon.answer = Answer{good()};
    CHECK(PrologSide{kArguments, daemon.ask()}.announce(host));
    REQUIRE(daemon.asked.size() == 2);
    CHECK(std::holds_alternative<PingRequest>(daemon.asked[0]));
    CHECK(std::get<StageRequest>(daemon.asked[1]) ==
          StageRequest{.key = {.job_id = 7, .step_id = kWholeJob, .restart = 2},
                       .uid = 2001,
                       .gid = 2002,
                       .node_name = "n3",
                       .node_list = "n[0-7]",
                       .work_dir = "/home/u",
                       .specs = kSpecs});
}

TEST_CASE("forged values in a prolog's environment fit a message, or are left out") {
    FakeHost host = prolog_host();
    FakeDaemon daemon;
    host.process[kPrologSpecs] = std::string(100'000, 'x');
    host.process["SLURM_NODELIST"] = std::string(100'000, 'n');
    host.process["SLURM_JOB_WORK_DIR"] = "relative";
    host.process["SLURM_JOB_RESTART_COUNT"] = "99999999999999999999";
    CHECK_FALSE(PrologSide{kArguments, daemon.ask()}.announce(host));
    REQUIRE(daemon.asked.size() == 2);
    const auto& request = std::get<StageRequest>(daemon.asked[1]);
    CHECK(fits(request));
    CHECK(request.specs.empty());
    CHECK(request.node_list.empty());
    CHECK(request.work_dir.empty());
    CHECK(decode_request(encode(request)));
}

TEST_CASE("a failed verdict and a silent daemon are lines for slurmd's log") {
    const FakeHost host = prolog_host();
    FakeDaemon daemon;
    daemon.answer =
        Answer{Verdict{.state = VerdictState::failed, .sentence = "node n1: no\nroom"}};
    const Status failed = PrologSide{kArguments, daemon.ask()}.announce(host);
    REQUIRE_FALSE(failed);
    CHECK(failed.error().sentence() == "job 7: node n1: no room");
    daemon.asked.clear();
    daemon.answer = Error{Blame::node, "stagecastd does not answer"};
    CHECK_FALSE(PrologSide{kArguments, daemon.ask()}.announce(host));
    CHECK(daemon.asked.size() == 1);
}

TEST_CASE("a pseudo job of srun -Z, which has no epilog, is not announced") {
    FakeHost host = prolog_host();
    host.items[Item::job_id] = 4294908550U;
    FakeDaemon daemon;
    const PrologSide side{kArguments, daemon.ask()};
    CHECK(side.announce(host));
    CHECK(side.conclude(host));
    CHECK(daemon.asked.empty());
}

TEST_CASE("an epilog ends the whole job") {
    const FakeHost host = prolog_host();
    FakeDaemon daemon;
    daemon.answer = Answer{Ack{}};
    CHECK(PrologSide{kArguments, daemon.ask()}.conclude(host));
    REQUIRE(daemon.asked.size() == 1);
    CHECK(std::get<EndRequest>(daemon.asked[0]) ==
          EndRequest{.job_id = 7, .step_id = kWholeJob});
}
