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

TEST_CASE("where no receiver requests anything more is read soon, and more each time") {
    ReadingOnDemand reading{24};
    reading.start(kStart);
    reading.poll(kStart, 5);
    CHECK_FALSE(reading.deadline());  // there is something to read
    reading.poll(kStart, 6);
    REQUIRE(reading.deadline() == kStart + milliseconds{100});
    reading.poll(kStart + milliseconds{99}, 6);
    CHECK(reading.below() == 6);
    reading.poll(kStart + milliseconds{100}, 6);
    CHECK(reading.below() == 12);
    reading.poll(kStart + milliseconds{200}, 12);
    CHECK(reading.below() == 24);
    reading.on_request(kStart + milliseconds{200}, request_of(20, 1));
    CHECK(reading.below() == 27);
    reading.poll(kStart + milliseconds{300}, 27);
    CHECK(reading.below() == 33);
}

TEST_CASE("while receivers request older blocks, more is read after a second") {
    ReadingOnDemand reading{24};
    reading.start(kStart);
    reading.on_request(kStart, request_of(3, 7));
    reading.poll(kStart, 10);
    for (int i = 1; i < 20; ++i) {
        reading.on_request(kStart + i * milliseconds{50}, request_of(2, 7));
        reading.poll(kStart + i * milliseconds{50}, 10);
        CHECK(reading.below() == 10);
    }
    CHECK(reading.deadline() == kStart + seconds{1});
    reading.poll(kStart + seconds{1}, 10);
    CHECK(reading.below() == 16);
}
