// Tests of a member whose clock leaps, that starts late, speaks a later version, or writes half
// a block: each by itself, and what seeds found in scenarios that have them.
#include "tests/sim/world/ran.h"

#include <catch2/catch.hpp>

namespace stage::sim {

TEST_CASE("clocks may leap, and those of the stamps either way", "[scenario]") {
    Plan plan = lossy_plan(6, 8 * kMiB, 20'000);
    plan.configured_bytes_per_s = 0;
    for (std::uint16_t rank = 0; rank < 4; ++rank) {
        plan.member[rank].leap_at = milliseconds{20 + 10 * rank};
        plan.member[rank].leap = rank < 2 ? seconds{1} : seconds{0};
        plan.member[rank].stamp_leap = rank % 2 == 0 ? seconds{-5} : seconds{5};
    }
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.times_wire(5) < 3.0);
}

TEST_CASE("a member that starts late is waited for", "[scenario]") {
    for (const std::uint16_t late : {std::uint16_t{0}, std::uint16_t{5}}) {
        Plan plan = lossy_plan(6, 4 * kMiB, 20'000);
        plan.member[late].start_at = seconds{2};
        const Ran ran{plan};
        ran.all_released();
        CHECK(ran.world.ready_after() >= seconds{2});
        CHECK(ran.world.held_after() < milliseconds{2400});
    }
}

TEST_CASE("a later release may say more than this one knows", "[scenario]") {
    for (const bool is_really_sealed : {false, true}) {
        Plan plan = lossy_plan(6, 2 * kMiB, 20'000);
        plan.is_really_sealed = is_really_sealed;
        plan.member[0].is_newer = true;
        plan.member[3].is_newer = true;
        const Ran ran{plan};
        ran.all_released();
        CHECK(ran.world.host(2).unopened() < 10);
    }
}

TEST_CASE("a store that wrote a part only is fetched and written again", "[scenario]") {
    Plan plan = lossy_plan(6, 16 * kMiB, 10'000);
    plan.member[2].short_write_ppm = 300'000;
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.times_wire(1) < 1.2);
    std::uint64_t given = 0;
    for (std::uint16_t rank = 1; rank < plan.members; ++rank) {
        given += ran.world.host(rank).data_sent();
    }
    CHECK(given > plan.chunks() / 8);
}

}  // namespace stage::sim
