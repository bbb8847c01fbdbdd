#include "transport/core/source/reading_on_demand.h"

#include "tests/unit/core/parts.h"

#include <catch2/catch.hpp>

#include <limits>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

constexpr std::uint32_t kNoLimit = std::numeric_limits<std::uint32_t>::max();

wire::Request request_of(unsigned of, std::uint16_t count) {
    return {.id = 1, .runs = {{.block = block(of), .first = 0, .count = count}}};
}

}  // namespace

TEST_CASE("a source that sends nothing reads from behind what all receivers hold") {
    ReadingOnDemand reading{24};
    reading.start(kStart, 100);
    CHECK(reading.below() == 106);
    reading.start(kStart, 200);
    CHECK(reading.below() == 106);
}

TEST_CASE("a source that sends nothing reads a quarter of its buffers ahead of requests") {
    ReadingOnDemand reading{24};
    CHECK(reading.below() == kNoLimit);
    reading.start(kStart);
    CHECK(reading.below() == 6);
    reading.on_request(kStart, request_of(3, 7));
    CHECK(reading.below() == 10);
    reading.on_request(kStart, request_of(2, 7));
    reading.on_request(kStart, request_of(30, 0));  // a descriptor
    CHECK(reading.below() == 10);
    reading.on_hole(kStart, block(4));
    CHECK(reading.below() == 11);
    reading.on_request(kStart, request_of(kNoLimit, 1));
    CHECK(reading.below() == kNoLimit);
    reading.stop();
    CHECK(reading.below() == kNoLimit);
}

TEST_CASE("what no receiver requests is read after a second, and more after each further one") {
    ReadingOnDemand reading{24};
    reading.start(kStart);
    reading.poll(kStart, 5);
    CHECK_FALSE(reading.deadline());  // there is something to read
    reading.poll(kStart, 6);
    REQUIRE(reading.deadline() == kStart + seconds{1});
    reading.poll(kStart + milliseconds{999}, 6);
    CHECK(reading.below() == 6);
    reading.poll(kStart + seconds{1}, 6);
    CHECK(reading.below() == 12);
    reading.poll(kStart + seconds{2}, 12);
    CHECK(reading.below() == 24);
    reading.on_request(kStart + seconds{2}, request_of(20, 1));
    CHECK(reading.below() == 27);
    reading.poll(kStart + seconds{3}, 27);
    CHECK(reading.below() == 33);
}
