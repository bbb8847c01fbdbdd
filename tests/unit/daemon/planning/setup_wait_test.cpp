// Does a node that waits in vain for its SETUP ask, wait, cancel or fail as it should?
#include "stager/daemon/planning/setup_wait.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace setup_wait;
using Said = RootProbe::Said;
using std::chrono::seconds;

namespace {

/// `after` its announcement, with 60 s for the work.
Times at(Duration after) {
    const Instant announced{seconds{1000}};
    StageLimits limits;
    limits.ends = {.work = seconds{60}, .verdict = seconds{62}};
    limits.words = "StageTimeout=64 s";
    return {.now = announced + after,
            .announced = announced,
            .announce_timeout = seconds{10},
            .limits = limits};
}

Instant time_at(Duration after) {
    return at(after).now;
}

const Fail& failure(const Step& step) {
    REQUIRE(std::holds_alternative<Fail>(step));
    return std::get<Fail>(step);
}

}  // namespace

TEST_CASE("without a SETUP the first node is asked once, until the verdict's time") {
    SetupWait wait{"n0", Rank{1}};
    const Step step = wait.on_late(at(seconds{13}), false);
    CHECK(std::get<AskFirstNode>(step).until == time_at(seconds{62}));
    const Fail fail = failure(wait.on_late(at(seconds{62}), true));
    CHECK(fail.sentence == "no word from the job's first node within StageTimeout=64 s");
    CHECK_FALSE(fail.is_first_nodes);
}

TEST_CASE("of many nodes only a few ask Slurm where the first one is") {
    CHECK(std::holds_alternative<AskFirstNode>(
        SetupWait{"n0", Rank{2}}.on_late(at(seconds{13}), false)));
    CHECK(std::holds_alternative<AskFirstNode>(
        SetupWait{"n0", Rank{3}}.on_late(at(seconds{13}), true)));
    CHECK(failure(SetupWait{"n0", Rank{3}}.on_late(at(seconds{13}), false)).sentence ==
          "no word from node n0, the job's first");
}

TEST_CASE(
    "a stage that is queued at its first node waits and asks again, until its time ends") {
    SetupWait wait{"n0", Rank{1}};
    CHECK_FALSE(wait.is_first_queued());
    CHECK(std::holds_alternative<AskFirstNode>(wait.on_late(at(seconds{13}), true)));
    Step step = wait.on_answer(at(seconds{14}), Said::queued, "");
    CHECK(std::get<WaitUntil>(step).until == time_at(seconds{44}));
    CHECK(wait.is_first_queued());
    CHECK(std::holds_alternative<AskFirstNode>(wait.on_late(at(seconds{44}), true)));
    SECTION("it is queued still") {
        step = wait.on_answer(at(seconds{45}), Said::queued, "");
        CHECK(std::get<WaitUntil>(step).until == time_at(seconds{60}));
        const Fail fail = failure(wait.on_late(at(seconds{60}), true));
        CHECK(fail.is_first_nodes);
        CHECK(fail.sentence ==
              "no place for this stage became free there (MaxStagesPerNode) within "
              "StageTimeout=64 s; submit it again");
    }
    SECTION("it has its place: the SETUP may be under way, and has one more pause to come") {
        step = wait.on_answer(at(seconds{45}), Said::announced, "");
        CHECK(std::holds_alternative<WaitUntil>(step));
        CHECK_FALSE(wait.is_first_queued());
        CHECK(std::holds_alternative<AskFirstNode>(wait.on_late(at(seconds{60}), true)));
        CHECK_THAT(failure(wait.on_answer(at(seconds{61}), Said::announced, "")).sentence,
                   Catch::Contains("stagecastd of node n0 knows of the job and has not "
                                   "reached this node"));
    }
}

TEST_CASE("a job that its first node does not know is cancelled by the lowest ranks alone") {
    SetupWait low{"n0", Rank{2}};
    const Step step = low.on_answer(at(seconds{14}), Said::unannounced, "");
    REQUIRE(std::holds_alternative<CancelJob>(step));
    CHECK(std::get<CancelJob>(step).reason == std::string{"node n0: "} + kUnannounced);
    SetupWait high{"n0", Rank{3}};
    const Fail fail = failure(high.on_answer(at(seconds{14}), Said::unannounced, ""));
    CHECK(fail.sentence == kUnannounced);
    CHECK(fail.is_first_nodes);
}

TEST_CASE("a first node that does not answer is named, with the reason") {
    SetupWait wait{"n0", Rank{1}};
    CHECK(failure(wait.on_answer(at(seconds{14}), Said::nothing, "it is silent")).sentence ==
          "no word from node n0, the job's first (it is silent)");
}
