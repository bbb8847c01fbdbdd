// Tests that numbers with units are parsed exactly.
#include "stager/config/value.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace std::chrono_literals;

TEST_CASE("rates are bytes per second, whether written in bits or bytes") {
    CHECK(read_rate("200mbit") == 25'000'000U);
    CHECK(read_rate("1gbit") == 125'000'000U);
    CHECK(read_rate("1 Gbit") == 125'000'000U);
    CHECK(read_rate("25MB") == 25'000'000U);
    CHECK(read_rate("25MB/s") == 25'000'000U);
    CHECK(read_rate("1.5GiB/s") == 1'610'612'736U);
    CHECK(read_rate("0.1gbit") == 12'500'000U);
    for (const char* const text : {"",
                                   "200",
                                   "25M",
                                   "25G/s",
                                   "mbit",
                                   "1.gbit",
                                   ".5gbit",
                                   "1gbit x",
                                   "1.1234567gbit",
                                   "18446744073709551615gbit",
                                   "-1gbit"}) {
        CAPTURE(text);
        CHECK_FALSE(read_rate(text));
    }
}

TEST_CASE("sizes count in powers of 1024 as Slurm's do") {
    CHECK(read_size("10G") == 10ULL << 30U);
    CHECK(read_size("1.5m") == 3ULL << 19U);
    CHECK(read_size("4096") == 4096U);
    CHECK(read_size("1KB") == 1000U);
    CHECK(read_size("1KiB") == 1024U);
    CHECK_FALSE(read_size("1.5"));
    CHECK_FALSE(read_size("20000000T"));
    CHECK_FALSE(read_size("1 Gbit"));
}

TEST_CASE("seconds keep their decimals") {
    CHECK(read_seconds("600") == 600s);
    CHECK(read_seconds("0.5") == 500ms);
    CHECK(read_seconds("2s") == 2s);
    CHECK(read_seconds("2m") == 120s);
    CHECK(read_seconds("1.5 h") == 5400s);
    CHECK_FALSE(read_seconds("2d"));
    CHECK_FALSE(read_seconds("1h30m"));
    CHECK_FALSE(read_seconds("9000000000h"));
    CHECK_FALSE(read_seconds("10000000000"));
    CHECK(write_seconds(600s) == "600");
    CHECK(write_seconds(1250ms) == "1.25");
}

TEST_CASE("a written number is read as the same number") {
    const std::uint64_t number =
        GENERATE(0U, 1U, 1000U, 1024U, 125'000'000U, 1ULL << 40U, 123'456'789ULL, 1ULL << 62U);
    CAPTURE(number);
    CHECK(read_size(write_size(number)) == number);
    CHECK(read_rate(write_rate(number)) == number);
}

TEST_CASE("paths are absolute and plain") {
    CHECK(read_path("/tmp/") == "/tmp");
    CHECK(read_path("/") == "/");
    CHECK(read_path("//") == "/");
    CHECK(read_path("/a/.b/..c") == "/a/.b/..c");
    CHECK(read_path("/a b/c") == "/a b/c");
    CHECK_FALSE(read_path("/a /"));
    for (const char* const text : {"", "tmp", "/a/./b", "/a/..", "/a//b", "/.."}) {
        CAPTURE(text);
        CHECK_FALSE(read_path(text));
    }
}

TEST_CASE("lists split at commas") {
    CHECK(split_list(" ").empty());
    CHECK(split_list("a, b").size() == 2);
    CHECK(split_list("a,,b").at(1).empty());
    CHECK(write_groups(*read_groups("239.1.2.3 - 239.1.2.9, 239.0.1.1")) ==
          "239.1.2.3-239.1.2.9,239.0.1.1");
}
