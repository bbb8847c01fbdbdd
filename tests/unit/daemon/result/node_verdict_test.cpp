// Does a node's plugin read what the group came to, with the paths of this node's worker?
#include "stager/daemon/result/node_verdict.h"

#include <catch2/catch.hpp>

using namespace stage;
using std::chrono::seconds;
using Texts = std::vector<std::string>;

namespace {

constexpr StageKey kKey{.job_id = 7, .step_id = kWholeJob, .restart = 0};
const std::string kStageDir = "/local/7";

StageTimes some_times() {
    StageTimes times;
    times.announced = Instant{seconds{1}};
    times.settled = Instant{seconds{4}};
    return times;
}

WorkerOutcome some_outcome() {
    WorkerOutcome outcome;
    outcome.state = VerdictState::ok;
    outcome.paths = {"/local/7/a"};
    outcome.directories = {"/local/7"};
    outcome.libs_directories = {"/local/7/a_libs/"};
    outcome.statistics.files = 3;
    return outcome;
}

NodeVerdict made_of(const GroupVerdict& verdict,
                    const std::optional<WorkerOutcome>& outcome,
                    bool is_verbose = false) {
    const StageTimes times = some_times();
    return node_verdict(verdict,
                        {.key = kKey,
                         .nodes = 2,
                         .bytes = 1'000'000,
                         .outcome = outcome,
                         .stage_dir = kStageDir,
                         .is_verbose = is_verbose,
                         .times = times});
}

}  // namespace

TEST_CASE("a staged job's node has its worker's paths, and libraries behind them") {
    const auto [verdict, facts, summary] =
        made_of({VerdictState::ok, Blame::node, ""}, some_outcome());
    CHECK(verdict.state == VerdictState::ok);
    CHECK(verdict.sentence.empty());
    CHECK_THAT(summary, Catch::StartsWith("staged 3 files"));
    CHECK(verdict.stage_dir == kStageDir);
    CHECK(verdict.paths == Texts{"/local/7/a", "/local/7/a_libs/"});
    CHECK(verdict.directories == Texts{"/local/7"});
    CHECK(facts.nodes == 2);
    CHECK(facts.outcome == VerdictState::ok);
}

TEST_CASE("a failed one has no paths, and one line of text") {
    const GroupVerdict failed{VerdictState::failed, Blame::user, "node n3: a\nb"};
    const auto [verdict, facts, summary] = made_of(failed, some_outcome(), true);
    CHECK(verdict.blame == Blame::user);
    CHECK(verdict.sentence == printable("node n3: a\nb"));
    CHECK(verdict.sentence.find('\n') == std::string::npos);
    CHECK(verdict.stage_dir.empty());
    CHECK(verdict.directories.empty());
    CHECK(facts.sentence == verdict.sentence);
}

TEST_CASE("a failure names the port on which a worker listened if a firewall may block it") {
    const GroupVerdict failed{VerdictState::failed, Blame::node, "node n1: no connection"};
    const std::optional<WorkerOutcome> none;
    const StageTimes times = some_times();
    const SettledFacts known{.key = kKey,
                             .nodes = 2,
                             .outcome = none,
                             .stage_dir = kStageDir,
                             .port_beyond_range = std::uint16_t{40'123},
                             .times = times};
    CHECK_THAT(node_verdict(failed, known).verdict.sentence,
               Catch::StartsWith("node n1: no connection; ") &&
                   Catch::Contains("TCP port 40123") && Catch::Contains("DataPortRange"));
    CHECK(node_verdict({VerdictState::ok, Blame::node, ""}, known).verdict.sentence.empty());
    const GroupVerdict users{VerdictState::failed, Blame::user, "/x: No such file"};
    CHECK(node_verdict(users, known).verdict.sentence == "/x: No such file");
}

TEST_CASE("a dropped node's tasks may not start, and the others' know its name") {
    const GroupVerdict partial{.state = VerdictState::partial,
                               .blame = Blame::node,
                               .sentence = "node n1: gone; the other nodes have the files",
                               .dropped = {Rank{1}}};
    const std::optional<WorkerOutcome> outcome = some_outcome();
    const StageTimes times = some_times();
    SettledFacts known{.key = kKey,
                       .nodes = 3,
                       .outcome = outcome,
                       .stage_dir = kStageDir,
                       .dropped_nodes = "n1",
                       .times = times};
    SECTION("another node") {
        const Verdict verdict = node_verdict(partial, known).verdict;
        CHECK(verdict.state == VerdictState::partial);
        CHECK(verdict.paths == Texts{"/local/7/a", "/local/7/a_libs/"});
        CHECK(verdict.dropped_nodes == "n1");
        CHECK(verdict.sentence == partial.sentence);
    }
    SECTION("the dropped one, though its worker had come to an end") {
        known.own_failure = Failure{Rank{1}, Blame::user, "node n1: disk full"};
        const auto [verdict, facts, summary] = node_verdict(partial, known);
        CHECK(verdict.state == VerdictState::dropped);
        CHECK(verdict.blame == Blame::user);
        CHECK(verdict.sentence == "node n1: disk full");
        CHECK(verdict.paths.empty());
        CHECK(verdict.stage_dir.empty());
        CHECK(facts.outcome == VerdictState::dropped);
    }
}

TEST_CASE("a verbose job reads what was staged, and the log does not repeat it") {
    const GroupVerdict ok{VerdictState::ok, Blame::node, ""};
    const auto [verdict, facts, summary] = made_of(ok, some_outcome(), true);
    CHECK_THAT(verdict.sentence, Catch::StartsWith("staged 3 files"));
    CHECK_THAT(verdict.sentence, Catch::Contains("on 2 nodes in 3.0 s"));
    CHECK(facts.sentence.empty());
    // What of the source is not in the copies is said behind it.
    WorkerOutcome less = some_outcome();
    less.statistics.remarks = "1 socket left out (/a/s)";
    CHECK_THAT(made_of(ok, less, true).verdict.sentence,
               Catch::EndsWith("; 1 socket left out (/a/s)"));
    // Where the worker does not say how many, its paths are counted.
    WorkerOutcome other = some_outcome();
    other.statistics.files = 0;
    CHECK_THAT(made_of(ok, other, true).verdict.sentence, Catch::StartsWith("staged 1 file,"));
    // A partial one says what is missing.
    const GroupVerdict partial{VerdictState::partial, Blame::user, "node n1 lacks /a"};
    CHECK(made_of(partial, some_outcome(), true).verdict.sentence == "node n1 lacks /a");
}

TEST_CASE("a node whose worker said nothing has a verdict without paths") {
    const auto made = made_of({VerdictState::ok, Blame::node, ""}, std::nullopt, true);
    CHECK(made.verdict.stage_dir.empty());
    CHECK_THAT(made.verdict.sentence, Catch::StartsWith("staged 0 files"));
}

TEST_CASE("paths that the message has no room for are left out") {
    WorkerOutcome outcome = some_outcome();
    outcome.paths.assign(1000, "/" + std::string(4000, 'a'));
    const auto made = made_of({VerdictState::ok, Blame::node, ""}, outcome);
    CHECK(fits(made.verdict));
    CHECK(made.verdict.paths.empty());
    CHECK(made.verdict.directories == Texts{"/local/7"});
    CHECK(made.verdict.stage_dir == kStageDir);
}
