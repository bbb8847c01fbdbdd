// Tests which receivers the rate follows if none is configured.
//
// With the acker's window the slowest member, as its paper wants; with the quantile's search
// most of them. `make sim ARGS=[acker]` prints what each policy makes of a few links.
#include "tests/sim/world/ran.h"

#include <catch2/catch.hpp>

#include <cstdio>

namespace stage::sim {
namespace {

Plan searching_plan(std::uint64_t mbits, bool is_acker_paced) {
    Plan plan = calm_plan(8, 16U << 20U);
    plan.seed = 5;
    plan.link_bytes_per_s = mbits * 125'000;
    plan.configured_bytes_per_s = 0;
    plan.is_acker_paced = is_acker_paced;
    plan.propagation = microseconds{50};
    plan.heals_at = std::chrono::hours{1};
    return plan;
}

struct Times {
    double first = 0;  ///< In wire times: the fastest receiver but the last one,
    double last = 0;   ///< the slowest of all.
};

Times run(const Plan& plan) {
    World world{plan};
    world.run();
    for (const std::string& complaint : world.complaints()) {
        UNSCOPED_INFO(complaint);
    }
    CHECK(world.complaints().empty());
    CHECK(world.all_released());
    Times times{.first = 1e9, .last = world.times_wire()};
    for (std::uint16_t rank = 1; rank + 1U < plan.members; ++rank) {
        times.first = std::min(times.first, world.times_wire(rank));
    }
    return times;
}

TEST_CASE("the acker holds all at the slowest member's rate, the quantile holds none") {
    Plan plan = searching_plan(100, true);
    plan.member[7].downlink_bytes_per_s = plan.link_bytes_per_s / 4;
    const Times acker = run(plan);
    plan.is_acker_paced = false;
    const Times quantile = run(plan);
    CAPTURE(acker.first, acker.last, quantile.first, quantile.last);
    CHECK(acker.first > 2.0);
    CHECK(quantile.first < 1.4);
}

TEST_CASE("the acker's window finds a link's rate") {
    const Times times = run(searching_plan(100, true));
    CHECK(times.last < 1.5);
}

TEST_CASE("no member that only shows that it lives becomes the acker") {
    Plan plan = searching_plan(100, true);
    plan.members = 40;
    plan.member.resize(plan.members);
    plan.stall_timeout = seconds{2};
    const auto drawn = drawn_representatives(plan);
    for (std::uint16_t rank = 1; rank < plan.members; ++rank) {
        if (std::ranges::find(drawn, Rank{rank}) == drawn.end()) {
            plan.member[rank].extra_loss_ppm = 20'000;
        }
    }
    const Times times = run(plan);
    CAPTURE(times.first, times.last);
    CHECK(times.first < 1.5);
}

TEST_CASE("what each policy makes of a link", "[.acker]") {
    for (const std::uint64_t mbits : {100U, 1000U, 10'000U}) {
        for (const std::uint32_t loss : {0U, 10'000U}) {
            for (const bool is_acker_paced : {false, true}) {
                Plan plan = searching_plan(mbits, is_acker_paced);
                plan.loss.independent_ppm = loss;
                const Times times = run(plan);
                std::printf("%6llu Mbit/s %3.0f %% loss, %-8s | fastest %6.3f slowest %6.3f\n",
                            static_cast<unsigned long long>(mbits),
                            loss / 1e4,
                            is_acker_paced ? "acker" : "quantile",
                            times.first,
                            times.last);
            }
        }
    }
}

}  // namespace
}  // namespace stage::sim
