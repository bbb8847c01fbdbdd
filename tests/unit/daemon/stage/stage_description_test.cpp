// Do status and explain say what a node knows of a stage, and no more?
#include "stager/daemon/stage/stage_description.h"

#include "stager/daemon/tree/outcome.h"

#include <catch2/catch.hpp>

#include <limits>
#include <nlohmann/json.hpp>

using namespace stage;
using nlohmann::json;
using std::chrono::seconds;

namespace {

Instant at(int second) {
    return Instant{seconds{second}};
}

/// All that a view borrows: a job on n0 and n1.
struct World {
    World() {
        times.announced = at(10);
        plan.nodes = {{"n0", "10.0.0.1"}, {"n1", "10.0.0.2"}};
        plan.group_address = "239.1.2.3";
    }
    [[nodiscard]] StageView view() const {
        return {.key = {.job_id = 7, .step_id = kWholeJob, .restart = 1},
                .times = times,
                .now = at(20),
                .outcomes = outcomes};
    }
    void report(Rank rank, const NodeStatistics& counted) {
        outcomes.push_back(
            {rank, encode(NodeOutcome{.sentence = {}, .statistics = counted}, 2)});
    }

    StageTimes times;
    StagePlan plan;
    std::vector<Contribution> outcomes;
};

}  // namespace

TEST_CASE("before there is a plan a status says how long the stage has waited for it") {
    World world;
    StageView view = world.view();
    view.state = StageState::announced;
    json status = status_of(view);
    CHECK(status["job"] == 7);
    CHECK(status["step"].is_null());
    CHECK(status["phase"] == "announced");
    CHECK(status["seconds"] == 10.0);
    CHECK(status["nodes"] == 0);
    CHECK_FALSE(status.contains("root"));
    view.is_queued = true;
    CHECK(status_of(view)["phase"] == "queued");
    CHECK(explanation_of(view)["outcome"] == "under way");
    CHECK_FALSE(explanation_of(view).contains("is_root"));
}

TEST_CASE("the root says how far all nodes are, another node how far it is itself") {
    World world;
    world.times.wired = at(18);
    const WorkerProgress progress{
        .phase = WorkerPhase::transfer, .bytes = 300, .bytes_total = 400};
    StageView view = world.view();
    view.state = StageState::running;
    view.plan = &world.plan;
    view.progress = &progress;
    view.group = {.done = 1, .bytes_least = 100, .slowest = Rank{1}};
    json status = status_of(view);
    CHECK(status["phase"] == "transfer");
    CHECK(status["bytes_here"] == 300);
    CHECK(status["done"] == 1);
    CHECK(status["bytes_least"] == 100);
    CHECK(status["slowest"] == "n1");
    CHECK(status["bytes_per_second"] == 50.0);
    view.group.bytes_least = 1'000'000;  // Of a root that keeps no copy.
    CHECK(status_of(view)["bytes_least"] == 400);
    view.self = Rank{1};
    status = status_of(view);
    CHECK(status["root"] == "n0");
    CHECK(status["bytes_total"] == 400);
    CHECK_FALSE(status.contains("bytes_least"));
    view.state = StageState::reported;
    CHECK(status_of(view)["phase"] == "reported");
}

TEST_CASE("a user reads when a stage had come how far") {
    World world;
    StageView view = world.view();
    view.is_queued = true;
    CHECK(
        progress_sentence(view) ==
        "staging, after 10 s: the job's first node stages for other jobs, and this one waits");
    view.is_queued = false;
    CHECK(progress_sentence(view) == "staging, after 10 s: the nodes begin");
    world.times.wired = at(18);
    const WorkerProgress progress{
        .phase = WorkerPhase::transfer, .bytes = 3000, .bytes_total = 4000};
    view.plan = &world.plan;
    view.progress = &progress;
    view.group = {.done = 1, .bytes_least = 1000, .slowest = Rank{1}};
    CHECK(progress_sentence(view) ==
          "staging, after 10 s: 1.0 KB of 4.0 KB are on all 2 nodes, 500 bytes/s, 6 s to go, "
          "slowest n1");
    world.plan.nodes.pop_back();
    view.group.slowest = Rank{0};
    CHECK_THAT(progress_sentence(view), Catch::Contains("of 4.0 KB are on the node, "));
}

TEST_CASE("an explanation sums what the nodes reported, and names the slowest first") {
    World world;
    world.times.planned = at(11);
    world.times.settled = at(20);
    world.report(Rank{0},
                 {.microseconds = 1'500'000,
                  .packets_lost = 2,
                  .bytes_read = 10,
                  .packet_payload = 1408});
    world.report(Rank{1},
                 {.microseconds = 2'500'000,
                  .packets_lost = 3,
                  .packet_payload = 9,
                  .was_unreachable = true});
    const Verdict verdict{.state = VerdictState::ok};
    StageView view = world.view();
    view.plan = &world.plan;
    view.verdict = &verdict;
    json why = explanation_of(view);
    CHECK(why["outcome"] == "ok");
    CHECK(why["is_root"] == true);
    CHECK(why["seconds"]["announce"] == 1.0);
    CHECK(why["seconds"]["start"].is_null());
    CHECK(why["seconds"]["total"] == 10.0);
    CHECK(why["packets_lost"] == 5);
    CHECK(why["bytes_read"] == 10);
    CHECK(why["unheard_group"] == json::array({"n1"}));
    CHECK(why["slowest"][0]["node"] == "n1");
    CHECK(why["slowest"][0]["seconds"] == 2.5);
    CHECK(why["transport"] == "udp multicast");
    CHECK_THAT(why["transport_why"].get<std::string>(), Catch::Contains("239.1.2.3"));
    CHECK_THAT(why["transport_why_not"].get<std::string>(), Catch::Contains("tcp unicast: "));
    CHECK(why["relayed"] == false);
    CHECK(why["packet_payload"] == 1408);  // The first node's.
    world.report(Rank{0}, {.fabric = "verbs"});
    CHECK(explanation_of(view)["transport"] == "verbs multicast");
    world.plan.nodes.pop_back();  // A rank that the plan lacks is left out.
    why = explanation_of(view);
    CHECK(why["packets_lost"] == 2);
    CHECK(why["transport"] == "none");
}

TEST_CASE("what a worker has made up is added without an overflow") {
    World world;
    constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
    world.report(Rank{0}, {.packets_lost = kMost});
    world.report(Rank{1}, {.packets_lost = 3});
    StageView view = world.view();
    view.plan = &world.plan;
    CHECK(explanation_of(view)["packets_lost"] == kMost);
}

TEST_CASE("an explanation names the nodes for which a staging went by TCP") {
    World world;
    world.report(Rank{0}, {.microseconds = 1'500'000, .was_handed_over = true});
    world.report(Rank{1},
                 {.microseconds = 2'500'000, .was_unreachable = true, .was_handed_over = true});
    StageView view = world.view();
    view.plan = &world.plan;
    const json why = explanation_of(view);
    CHECK(why["relayed"] == true);
    CHECK(why["transport"] == "tcp unicast");
    CHECK(why["transport_why"] == "multicast does not reach n1");
    CHECK(why["transport_why_not"] == "udp multicast: multicast does not reach n1");
}

TEST_CASE("an explanation says that a staging was broadcast") {
    World world;
    world.plan.group_address = "255.255.255.255";
    StageView view = world.view();
    view.plan = &world.plan;
    const json why = explanation_of(view);
    CHECK(why["transport"] == "udp broadcast");
    CHECK_THAT(why["transport_why"].get<std::string>(), Catch::Contains("255.255.255.255"));
    world.report(Rank{0}, {.microseconds = 1'500'000, .was_handed_over = true});
    world.report(Rank{1},
                 {.microseconds = 2'500'000, .was_unreachable = true, .was_handed_over = true});
    StageView after = world.view();
    after.plan = &world.plan;
    CHECK(explanation_of(after)["transport_why_not"] ==
          "udp broadcast: broadcast does not reach n1");
}

TEST_CASE("an explanation does not say that all hear the group where one does not") {
    World world;
    world.report(Rank{0}, {.microseconds = 1'500'000});
    world.report(Rank{1}, {.microseconds = 2'500'000, .was_unreachable = true});
    StageView view = world.view();
    view.plan = &world.plan;
    const json why = explanation_of(view);
    CHECK(why["transport"] == "udp multicast");
    CHECK_THAT(why["transport_why"].get<std::string>(), Catch::Contains("by unicast"));
    CHECK(why["unheard_group"] == json::array({"n1"}));
}

TEST_CASE("an explanation of a configured relay says what configured it") {
    World world;
    world.plan.relays = true;
    StageView view = world.view();
    view.plan = &world.plan;
    CHECK(explanation_of(view)["transport_why"] == "no Interface= for multicast");
    CHECK_FALSE(explanation_of(view).contains("relay"));
    world.plan.transport = Transport::tcp;
    CHECK(explanation_of(view)["transport_why"] == "Transport=tcp");
    const WorkerProgress progress{.bytes_total = 50'000'000};
    view.progress = &progress;
    CHECK_THAT(explanation_of(view)["relay"].get<std::string>(),
               Catch::StartsWith("a chain: "));
}
