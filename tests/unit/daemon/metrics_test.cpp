// Tests that Prometheus can read the exported metrics.
#include "stager/daemon/metrics.h"

#include "stager/daemon/base/counters.h"

#include <catch2/catch.hpp>

#include <map>
#include <regex>
#include <sstream>

namespace stage {
namespace {

struct Parsed {
    std::map<std::string, std::string> kinds;  ///< By family.
    std::map<std::string, double> samples;     ///< By name and labels.
};

/// Is as strict as the format: every sample belongs to the family declared just before it.
Parsed parse(const std::string& text) {
    static const std::regex kHelp{"# HELP ([a-z_]+) [^\n]+"};
    static const std::regex kType{"# TYPE ([a-z_]+) (counter|gauge|histogram)"};
    static const std::regex kSample{
        "(([a-z_]+)(?:\\{[a-z]+=\"[^\"\\\\]*\"(?:,[a-z]+=\"[^\"\\\\]*\")*\\})?) "
        "([0-9]+(?:\\.[0-9]+)?)"};
    Parsed parsed;
    std::string family;
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
        CAPTURE(line);
        std::smatch part;
        if (std::regex_match(line, part, kHelp)) {
            family = part[1];
            CHECK(parsed.kinds.count(family) == 0);
        } else if (std::regex_match(line, part, kType)) {
            CHECK(part[1] == family);
            parsed.kinds[family] = part[2];
        } else {
            REQUIRE(std::regex_match(line, part, kSample));
            const std::string name = part[2];
            const bool of_histogram = parsed.kinds[family] == "histogram" &&
                                      (name == family + "_bucket" || name == family + "_sum" ||
                                       name == family + "_count");
            CHECK((name == family || of_histogram));
            CHECK(parsed.samples.emplace(part[1], std::stod(part[3])).second);
        }
    }
    return parsed;
}

}  // namespace

TEST_CASE("the text is in Prometheus' format, each count under its name") {
    Counters counters;
    counters.stages_begun = 7;
    counters.ended[0] = {.ok = 4, .failed = {2, 3, 0}};
    counters.ended[2].ok = 1;
    counters.node_failures = {{"n3", 2}, {"n4", 1}};
    counters.other_node_failures = 5;
    counters.bytes_pushed = 5;
    counters.ok_within[1] = 1;
    counters.ok_within[3] = 1;
    counters.bytes_staged = 1'000'000'000'000'000;
    counters.stages_timed = 3;
    counters.ok_ms = 12'045;
    counters.workers = {.by_fabric = {21, 22, 0}, .unreached = 23, .packets_lost = 24};
    counters.control_refused = 11;
    counters.links_refused = 12;
    counters.messages_refused = 13;
    const std::string text = metrics_text(counters,
                                          {.stages_running = 1,
                                           .stages_waiting = 6,
                                           .is_enabled = false,
                                           .started_at = 1'700'000'000});
    CHECK(text.back() == '\n');
    const Parsed parsed = parse(text);
    const auto value = [&](const std::string& name) {
        CAPTURE(name);
        REQUIRE(parsed.samples.count("stagecast_" + name) == 1);
        return parsed.samples.at("stagecast_" + name);
    };
    CHECK(value("stages_begun_total") == 7);
    CHECK(value("stages_total{role=\"job\",verdict=\"ok\"}") == 4);
    CHECK(value("stages_total{role=\"job\",verdict=\"failed\",blame=\"user\"}") == 2);
    CHECK(value("stages_total{role=\"job\",verdict=\"failed\",blame=\"node\"}") == 3);
    CHECK(value("stages_total{role=\"push\",verdict=\"ok\"}") == 0);
    CHECK(value("stages_total{role=\"source\",verdict=\"ok\"}") == 1);
    CHECK(value("node_failures_total{culprit=\"n3\"}") == 2);
    CHECK(value("node_failures_total{culprit=\"n4\"}") == 1);
    CHECK(value("node_failures_total{culprit=\"\"}") == 5);
    CHECK(value("pushed_bytes_total") == 5);
    CHECK(value("staged_bytes_total") == 1e15);
    CHECK(value("stage_seconds_sum") == Approx(12.045));
    CHECK(value("stage_seconds_count") == 3);
    CHECK(value("stage_seconds_bucket{le=\"1\"}") == 0);
    CHECK(value("stage_seconds_bucket{le=\"2\"}") == 1);
    CHECK(value("stage_seconds_bucket{le=\"10\"}") == 2);
    CHECK(value("stage_seconds_bucket{le=\"1200\"}") == 2);
    CHECK(value("stage_seconds_bucket{le=\"+Inf\"}") == 3);
    CHECK(value("stages_running") == 1);
    CHECK(value("stages_waiting") == 6);
    CHECK(value("workers_total{fabric=\"udp\"}") == 21);
    CHECK(value("workers_total{fabric=\"tcp\"}") == 22);
    CHECK(value("workers_unreached_total") == 23);
    CHECK(value("packets_total{what=\"lost\"}") == 24);
    CHECK(value("enabled") == 0);
    CHECK(value("start_time_seconds") == 1'700'000'000);
    CHECK(value("refused_total{door=\"socket\"}") == 11);
    CHECK(value("refused_total{door=\"link\"}") == 12);
    CHECK(value("refused_total{door=\"message\"}") == 13);
}

TEST_CASE("a node's name cannot end its label") {
    Counters counters;
    counters.node_failures = {{"n\"} 7\nx\\", 1}};
    CHECK_THAT(metrics_text(counters, {}),
               Catch::Contains(R"(node_failures_total{culprit="n\"} 7\nx\\"} 1)"
                               "\n"));
}

TEST_CASE("a counter is called a total") {
    for (const auto& [family, kind] : parse(metrics_text({}, {})).kinds) {
        CAPTURE(family);
        CHECK((kind == "counter") == family.ends_with("_total"));
    }
}

}  // namespace stage
