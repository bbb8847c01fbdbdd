#include "spank/submit/stage_timeout.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace std::chrono_literals;

TEST_CASE("--stage-timeout takes Slurm's times, and numbers with a unit") {
    CHECK(*read_stage_timeout("1:30") == 90s);
    CHECK(*read_stage_timeout("0:90") == 90s);
    CHECK(*read_stage_timeout("01:02:03") == 1h + 2min + 3s);
    CHECK(*read_stage_timeout("1-2") == 26h);
    CHECK(*read_stage_timeout("0-0:5") == 5min);
    CHECK(*read_stage_timeout("1-02:03:04") == 26h + 3min + 4s);
    CHECK(*read_stage_timeout("90s") == 90s);
    CHECK(*read_stage_timeout("10m") == 10min);
    CHECK(*read_stage_timeout("10min") == 10min);
    CHECK(*read_stage_timeout("20M") == 20min);
    CHECK(*read_stage_timeout("1.5h") == 90min);
}

TEST_CASE("a bare number is minutes to Slurm and seconds to stagecast.conf, so it is refused") {
    for (const char* const text : {"10", "4000000000000000000000"}) {
        const auto time = read_stage_timeout(text);
        REQUIRE_FALSE(time);
        CHECK(time.error().blame() == Blame::user);
        CHECK_THAT(
            time.error().sentence(),
            Catch::Contains(std::string{text} + " has no unit; write " + text + "min or "));
    }
}

TEST_CASE("an invalid time is refused") {
    for (const char* const text : {"",
                                   "soon",
                                   "-1",
                                   "1-",
                                   "-",
                                   ":",
                                   "1:",
                                   ":30",
                                   "1:2:3:4",
                                   "1-2:3:4:5",
                                   "1-2-3",
                                   "1.5:30",
                                   "1:30s",
                                   "0:00",
                                   "0",
                                   "0s",
                                   "90000000:1",
                                   "UNLIMITED",
                                   "2d"}) {
        CAPTURE(text);
        const auto time = read_stage_timeout(text);
        REQUIRE_FALSE(time);
        CHECK_THAT(time.error().sentence(), Catch::Contains("is not a time; write "));
    }
}
