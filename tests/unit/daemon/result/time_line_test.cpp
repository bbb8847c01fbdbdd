// What does the daemon's log say of a worker that has left?
#include "stager/daemon/result/time_line.h"

#include <catch2/catch.hpp>

#include <vector>

using namespace stage;

namespace {

/// The lines for job 7, of which the worker said this.
std::vector<std::string> lines_for(const std::string& statistics) {
    std::vector<std::string> lines;
    const Logger log{[&](LogLevel, std::string_view line) { lines.emplace_back(line); },
                     LogLevel::info};
    log_worker(log, {.job_id = 7}, statistics);
    return lines;
}

}  // namespace

TEST_CASE("one line tells what a worker counted, a second one of its flows, if it had some") {
    const auto plain = lines_for(R"({"bytes":5,"packets_lost":2})");
    REQUIRE(plain.size() == 1);
    CHECK_THAT(
        plain[0],
        Catch::Contains("worker left job=7 bytes=5 ") && Catch::Contains("packets_lost=2"));
    const auto flows = lines_for(R"({"bytes":5,"rails":2,"flow_packets":[3,4]})");
    REQUIRE(flows.size() == 2);
    CHECK_THAT(flows[1], Catch::Contains("rails=2") && Catch::Contains("[3,4]"));
    CHECK_THAT(lines_for(R"({"flow_packets":[9]})")[1],
               Catch::Contains("rails=1") && Catch::Contains("[9]"));
}

TEST_CASE("a worker belongs to its user, and only its numbers come into the log") {
    for (const char* const made_up : {"", "null", "[]", "7", "{", R"({"bytes":"7 job=8"})"}) {
        CAPTURE(made_up);
        const auto lines = lines_for(made_up);
        REQUIRE(lines.size() == 1);
        CHECK_THAT(lines[0], Catch::Contains("job=7 bytes=0 "));
    }
    for (const char* const made_up : {R"({"flow_packets":"7 job=8"})",
                                      R"({"flow_packets":[7,"job=8"]})",
                                      R"({"rails":-8})"}) {
        CAPTURE(made_up);
        const auto lines = lines_for(made_up);
        REQUIRE(lines.size() == 2);
        CHECK_THAT(lines[1], !Catch::Contains("8") && Catch::Contains("rails=1"));
    }
}
