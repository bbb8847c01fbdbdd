// Tests that a slow peer is distinguished from loss.
#include "transport/core/repair/spurious_timeouts.h"

#include <catch2/catch.hpp>

#include <chrono>

namespace stage::core {

using std::chrono::milliseconds;

TEST_CASE("a late answer of a request that was given up says how long to wait") {
    SpuriousTimeouts late;
    const Instant asked{milliseconds{100}};
    late.on_given_up(Rank{3}, BlockIndex{7}, 16, asked);
    CHECK(late.slowest() == Duration{});
    const Instant now = asked + milliseconds{21};
    CHECK_FALSE(late.on_arrival(now, Rank{2}, BlockIndex{7}, 16));
    CHECK_FALSE(late.on_arrival(now, Rank{3}, BlockIndex{8}, 16));
    CHECK_FALSE(late.on_arrival(now, Rank{3}, BlockIndex{7}, 17));
    CHECK(late.on_arrival(now, Rank{3}, BlockIndex{7}, 16));
    CHECK(late.slowest() == milliseconds{21});
    CHECK_FALSE(late.on_arrival(now + milliseconds{1}, Rank{3}, BlockIndex{7}, 16));
    CHECK(late.slowest() == milliseconds{21});
}

TEST_CASE("what never comes is forgotten, and with it how late others were") {
    SpuriousTimeouts late;
    const auto give_up = [&](std::uint16_t chunk) {
        late.on_given_up(Rank{1}, BlockIndex{1}, chunk, Instant{});
    };
    give_up(0);
    CHECK(late.on_arrival(Instant{milliseconds{64}}, Rank{1}, BlockIndex{1}, 0));
    for (std::uint16_t chunk = 1; chunk <= 8; ++chunk) {
        give_up(chunk);
    }
    CHECK(late.slowest() == milliseconds{64});
    give_up(9);
    CHECK(late.slowest() == milliseconds{56});
    CHECK_FALSE(late.on_arrival(Instant{milliseconds{70}}, Rank{1}, BlockIndex{1}, 1));
    CHECK(late.on_arrival(Instant{milliseconds{60}}, Rank{1}, BlockIndex{1}, 2));
    CHECK(late.slowest() == milliseconds{60});
}

}  // namespace stage::core
