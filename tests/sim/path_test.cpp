// Tests of a path that drops large packets.
#include "tests/sim/world/ran.h"

#include <catch2/catch.hpp>

namespace stage::sim {
namespace {

TEST_CASE("packets are as large as every path takes", "[scenario]") {
    Plan plan = calm_plan(6, 8 * kMiB);
    plan.chunk_bytes = 8928;
    plan.chunk_bytes_fallback = 1444;
    SECTION("all take large ones") {
        const Ran ran{plan};
        ran.all_released();
        CHECK(ran.world.host(5).outcome().chunk_bytes == 8928);
        CHECK(ran.world.host(0).data_sent() < 8 * kMiB / 8928 + 20);
    }
    SECTION("one's switch drops them: smaller ones for all, before any data") {
        plan.member[3].path_body_max = 1472;
        const Ran ran{plan};
        ran.all_released();
        for (std::uint16_t rank = 0; rank < plan.members; ++rank) {
            CHECK(ran.world.host(rank).outcome().chunk_bytes == 1444);
        }
    }
    SECTION("the source's own switch drops them") {
        plan.member[0].path_body_max = 1472;
        const Ran ran{plan};
        ran.all_released();
        CHECK(ran.world.host(0).outcome().chunk_bytes == 1444);
    }
    SECTION("one starts late: that says nothing of its path") {
        plan.member[3].start_at = milliseconds{600};
        const Ran ran{plan};
        ran.all_released();
        for (std::uint16_t rank = 0; rank < plan.members; ++rank) {
            CHECK(ran.world.host(rank).outcome().chunk_bytes == 8928);
        }
    }
    SECTION("one starts late behind a switch that drops them") {
        plan.member[3].start_at = milliseconds{600};
        plan.member[3].path_body_max = 1472;
        const Ran ran{plan};
        ran.all_released();
        CHECK(ran.world.host(1).outcome().chunk_bytes == 1444);
        CHECK(ran.world.ready_after() > milliseconds{1000});
        CHECK(ran.world.ready_after() < milliseconds{1300});
    }
    SECTION("one finishes what it holds before it answers") {
        for (const std::uint16_t rank : {std::uint16_t{0}, std::uint16_t{2}}) {
            plan.member[rank].holds_already = true;
        }
        plan.member[2].finish_takes = seconds{1};
        const Ran ran{plan};
        ran.all_released();
        CHECK(ran.world.host(1).outcome().chunk_bytes == 8928);
    }
    SECTION("one takes neither, and is named") {
        plan.member[3].path_body_max = 1000;
        plan.member[3].extra_loss_ppm = 1;  // marks it as the one at fault
        plan.member[3].abort_at = std::chrono::hours{2};
        const Ran ran{plan};
        CHECK(ran.world.host(0).outcome().culprit == Rank{3});
        CHECK(ran.world.host(0).data_sent() == 0);
    }
}

}  // namespace
}  // namespace stage::sim
