// Tests how much a member outside the group may have in flight.
#include "transport/core/repair/fetch_window.h"

#include "tests/unit/core/parts.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

constexpr std::uint32_t kPacket = 1000;

struct Outside {
    Outside() {
        round_trip.on_sample(milliseconds{10});
        REQUIRE(window.set_outside(kStart, 1'000'000'000));
    }

    RttEstimator round_trip{
        {.first = milliseconds{20}, .margin_min = microseconds{50}, .max = seconds{1}}};
    FetchWindow window{Limits{}, kPacket};
};

}  // namespace

TEST_CASE("a fetch begins with a small window, of which a request takes half") {
    const Outside one;
    CHECK(one.window.chunks() == 16);
    CHECK(one.window.request_max() == 8);
    CHECK(one.window.has_room(12));
    CHECK_FALSE(one.window.has_room(13));
}

TEST_CASE("a full window grows by arrivals, an empty one does not") {
    for (const std::uint32_t in_flight : {16U, 0U}) {
        Outside one;
        for (int i = 1; i <= 300; ++i) {
            one.window.on_arrival(kStart + milliseconds{10} * i, in_flight, one.round_trip);
        }
        CAPTURE(in_flight);
        CHECK((one.window.chunks() > 16) == (in_flight > 0));
    }
}

TEST_CASE("a time-out shrinks the window, to two chunks at least") {
    Outside one;
    one.window.on_timeout(kStart, one.round_trip);
    CHECK(one.window.chunks() == 11);
    for (int i = 1; i <= 20; ++i) {
        one.window.on_timeout(kStart + seconds{i}, one.round_trip);
    }
    CHECK(one.window.chunks() == 2);
    CHECK(one.window.request_max() == 1);
    CHECK(one.window.has_room(1));
}

TEST_CASE("requests are a little faster than the window, and no faster than they may be") {
    Outside one;
    CHECK(one.window.rate_bytes_per_s(one.round_trip) == 16 * kPacket * 125);
    CHECK_FALSE(one.window.set_outside(kStart, 200'000));
    CHECK(one.window.rate_bytes_per_s(one.round_trip) == 200'000);
}

TEST_CASE("a member that leaves the group again begins anew") {
    Outside one;
    one.window.on_timeout(kStart, one.round_trip);
    CHECK(one.window.set_outside(kStart, 0));
    CHECK_FALSE(one.window.is_outside());
    CHECK(one.window.set_outside(kStart + seconds{1}, 1'000'000));
    CHECK(one.window.chunks() == 16);
}
