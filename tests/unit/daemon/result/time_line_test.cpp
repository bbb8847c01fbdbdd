// Tests the daemon's log line about a worker that has ended.
#include "stager/daemon/result/time_line.h"

#include <catch2/catch.hpp>

#include <array>
#include <limits>
#include <numeric>
#include <vector>

using namespace stage;

namespace {

/// The lines for job 7, whose worker counted this.
std::vector<std::string> lines_for(const WorkerStatistics& counted) {
    std::vector<std::string> lines;
    const Logger log{[&](LogLevel, std::string_view line) { lines.emplace_back(line); },
                     LogLevel::info};
    log_worker(log, {.job_id = 7}, counted);
    return lines;
}

}  // namespace

TEST_CASE("one line tells what a worker counted, a second one of its flows, if it had some") {
    WorkerStatistics counted;
    counted.bytes = 5;
    counted.node.packets_lost = 2;
    const auto plain = lines_for(counted);
    REQUIRE(plain.size() == 1);
    CHECK_THAT(
        plain[0],
        Catch::Contains("worker left job=7 bytes=5 ") && Catch::Contains("packets_lost=2"));
    counted.rails = 2;
    counted.flow_packets = {3, 4};
    const auto flows = lines_for(counted);
    REQUIRE(flows.size() == 2);
    CHECK_THAT(flows[1], Catch::Contains("rails=2") && Catch::Contains("[3,4]"));
    counted.rails = 0;  // Made up by a worker, which is its user's process.
    counted.flow_packets = {9};
    CHECK_THAT(lines_for(counted)[1], Catch::Contains("rails=1") && Catch::Contains("[9]"));
    counted.rails = 2;
    counted.flow_packets.clear();
    CHECK_THAT(lines_for(counted)[1], Catch::Contains("rails=2") && Catch::Contains("[]"));
}

TEST_CASE("a worker's counts are added, as far as one can have counted") {
    WorkerCounts counts;
    WorkerStatistics counted;
    counted.node = {
        .packets_lost = 3, .bytes_here = 5, .fabric = "tcp", .was_unreachable = true};
    count_worker(counts, counted);
    counted.node.fabric = "\"made up";
    counted.node.packets_lost = std::numeric_limits<std::uint64_t>::max();
    count_worker(counts, counted);
    CHECK(counts.by_fabric == std::array<std::uint64_t, 4>{0, 1, 0, 0});
    CHECK(counts.unreached == 2);
    CHECK(counts.bytes_here == 10);
    CHECK(counts.packets_lost == 3 + kWorkerCountMax);
}

TEST_CASE("a failed stage counts the nodes at fault by name, a bounded number of names") {
    Counters counters;
    StageFacts facts;
    facts.culprits = {"n3", "n4"};
    count_settled(counters, facts, StageTimes{});
    facts.culprits = {"n3"};
    count_settled(counters, facts, StageTimes{});
    CHECK(counters.node_failures == std::map<std::string, std::uint64_t>{{"n3", 2}, {"n4", 1}});
    CHECK(counters.other_node_failures == 0);
    facts.culprits.clear();
    for (std::size_t i = 0; i < kCulpritsMax; ++i) {
        facts.culprits.push_back("m" + std::to_string(i));
    }
    count_settled(counters, facts, StageTimes{});
    CHECK(counters.node_failures.size() == kCulpritsMax);
    CHECK(counters.other_node_failures == 2);
}

TEST_CASE(
    "what ended is counted by role, and what a push's source reads is brought to others") {
    Counters counters;
    const auto took = [](Duration time) {
        StageTimes times;
        times.announced = Instant{};
        times.settled = Instant{} + time;
        return times;
    };
    StageFacts staged;
    staged.bytes = 7;
    staged.outcome = VerdictState::ok;
    count_settled(counters, staged, took(std::chrono::seconds{2}));
    count_settled(counters, staged, took(std::chrono::milliseconds{2001}));
    count_settled(counters, staged, took(std::chrono::hours{1}));
    StageFacts pushed = staged;
    pushed.role = StageRole::source;
    count_settled(counters, pushed, took(std::chrono::seconds{1}));
    pushed.role = StageRole::push;
    count_settled(counters, pushed, StageTimes{});
    pushed.outcome = VerdictState::failed;
    pushed.blame = Blame::node;
    count_settled(counters, pushed, StageTimes{});
    CHECK(counters.ended[0].ok == 3);
    CHECK(counters.ended[1].ok == 1);
    CHECK(counters.ended[1].failed[1] == 1);
    CHECK(counters.ended[2].ok == 1);
    CHECK(counters.bytes_staged == 28);
    CHECK(counters.bytes_pushed == 7);
    CHECK(counters.stages_timed == 3);
    CHECK(counters.ok_within[1] == 1);  // Up to 2 s.
    CHECK(counters.ok_within[2] == 1);  // Up to 5 s.
    CHECK(std::accumulate(counters.ok_within.begin(), counters.ok_within.end(), 0U) == 2);
}
