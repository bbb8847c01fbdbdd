// Tests which peer a member of the group asks, and how much it has in flight.
#include "transport/core/repair/group_repair.h"

#include "tests/unit/core/parts.h"

#include <catch2/catch.hpp>

#include <array>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

constexpr unsigned kMembers = 8;

struct Choosing {
    Rank choose(const GroupRepair::Query& query) { return repair.choose(query, open, peers); }

    Prng prng{1};
    PeerChoice peers{config_of(1, kMembers), prng};
    GroupRepair repair{RepairLimits{}, 1070};
    OpenBlock open;
};

}  // namespace

TEST_CASE("peers that lack the chunks, and those that have a copy, are not asked") {
    Choosing one;
    one.open.lacking = {rank(2), rank(3), rank(4), rank(5)};
    one.open.lacking_count = 4;
    const std::array<Rank, 1> chosen{rank(6)};
    for (int i = 0; i < 20; ++i) {
        const Rank peer = one.choose({.now = kStart, .chosen = chosen});
        CHECK((peer == rank(7) || peer == rank(0)));  // If no draw finds the last: the source.
    }
}

TEST_CASE("the source is asked after failures: during the pass refusals, then all") {
    Choosing one;
    one.open.failures = 4;
    one.open.refusals = 3;
    CHECK(one.choose({.now = kStart}) != rank(0));
    CHECK(one.choose({.now = kStart, .is_ended = true}) == rank(0));
    one.open.refusals = 4;
    CHECK(one.choose({.now = kStart}) == rank(0));
    CHECK(one.choose({.now = kStart, .is_outside = true}) != rank(0));
    one.open.refusals = 16;
    CHECK(one.choose({.now = kStart, .is_outside = true}) == rank(0));
    CHECK(one.choose({.now = kStart, .copies = 5}) != rank(0));
}

TEST_CASE("what may be in flight is two RTTs of the rate, within bounds") {
    const GroupRepair repair{RepairLimits{}, 1000};
    RttEstimator round_trip{
        {.first = milliseconds{20}, .margin_min = microseconds{50}, .max = seconds{1}}};
    for (int i = 0; i < 100; ++i) {
        round_trip.on_sample(milliseconds{1});
    }
    CHECK(repair.window(round_trip, 100'000'000) == 200);
    CHECK(repair.window(round_trip, 1'000'000) == RepairLimits{}.in_flight_chunks_min);
    CHECK(repair.window(round_trip, 10'000'000'000) == RepairLimits{}.in_flight_chunks_max);
}
