// Tests when each chunk is requested from several peers, and when once more.
#include "transport/core/repair/end_game.h"

#include "tests/unit/core/parts.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

/// A group of 10 in which one block is missing, on a path with an RTT of a millisecond.
struct Receiver {
    explicit Receiver(std::uint32_t missing) : map{1, 100, 1} {
        OpenBlock* open = map.open(block(0));
        open->chunks = 100;
        for (std::uint32_t chunk = missing; chunk < 100; ++chunk) {
            open->have.add(chunk);
        }
        round_trip.on_sample(milliseconds{1});
    }

    bool look(std::uint32_t in_flight, Duration packet_time = microseconds{1}) {
        return end_game.look(
            map, in_flight, {.round_trip = round_trip, .packet_time = packet_time});
    }
    void give(std::uint32_t first, std::uint32_t below) {
        for (std::uint32_t chunk = first; chunk < below; ++chunk) {
            map.at(0).have.add(chunk);
        }
    }

    ChunkMap map;
    RttEstimator round_trip{
        {.first = milliseconds{20}, .margin_min = microseconds{50}, .max = seconds{1}}};
    EndGame end_game{RepairLimits{}, 10};
};

}  // namespace

TEST_CASE("the end-game begins when few chunks are missing") {
    Receiver few{32};
    CHECK(few.end_game.copies(block(5)) == 1);
    CHECK(few.look(32));
    CHECK(few.end_game.is_on());
    CHECK(few.end_game.copies(block(5)) == 3);

    Receiver many{33};
    CHECK_FALSE(many.look(0));
    CHECK_FALSE(many.end_game.is_on());
}

TEST_CASE("a block that is not open yet is missing") {
    Receiver one{1};
    one.map = ChunkMap{2, 100, 1};
    CHECK_FALSE(one.look(0));
}

TEST_CASE("half of the rest is requested anew if an RTT brings all of it") {
    Receiver receiver{20};
    CHECK(receiver.look(20));
    CHECK_FALSE(receiver.look(20));  // nothing came
    receiver.give(0, 9);
    CHECK_FALSE(receiver.look(11));
    receiver.give(9, 10);
    CHECK_FALSE(receiver.look(10, microseconds{40}));  // 25 packets in an RTT, not 30
    CHECK(receiver.look(10, microseconds{20}));
}

TEST_CASE("the first block is requested from several peers, unless there is only one") {
    CHECK(EndGame{RepairLimits{}, 10}.copies(block(0)) == 3);
    CHECK(EndGame{RepairLimits{}, 2}.copies(block(0)) == 1);
}
