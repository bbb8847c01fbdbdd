// Tests that what is wrong with one member is that member's affair: the others
// complete when they would without it.
#include "tests/sim/world/ran.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>

namespace stage::sim {
namespace {

constexpr std::uint16_t kFaulty = 5;

Plan nine_plan(std::uint64_t seed) {
    Plan plan = lossy_plan(9, 24 * kMiB, 10'000);
    plan.seed = seed;
    plan.drops_failed = true;
    return plan;
}

/// When the last other member held the object, counted from the first chunk.
double others_held(const Plan& plan) {
    const Ran ran{plan};
    Duration last{};
    for (std::uint16_t rank = 0; rank < plan.members; ++rank) {
        if (rank != kFaulty && rank != plan.source) {
            last = std::max(last, ran.world.held_after(rank) - ran.world.ready_after());
        }
    }
    return static_cast<double>(last.count());
}

struct Fault {
    const char* name;
    std::function<void(MemberPlan&)> put;
};

}  // namespace

TEST_CASE("one member's fault changes no other member's completion", "[scenario]") {
    const Fault faults[] = {
        {"slow disk", [](MemberPlan& m) { m.disk_bytes_per_s = 10'000'000; }},
        {"disk stands",
         [](MemberPlan& m) {
             m.disk_stands_at = milliseconds{50};
             m.disk_stands_for = seconds{1};
         }},
        {"disk full",
         [](MemberPlan& m) {
             m.disk_full_at = milliseconds{50};
             m.disk_full_for = milliseconds{50};
         }},
        {"disk stuck", [](MemberPlan& m) { m.is_disk_stuck = true; }},
        {"half is lost", [](MemberPlan& m) { m.extra_loss_ppm = 500'000; }},
        {"slow process", [](MemberPlan& m) { m.packet_cost = microseconds{40}; }},
        {"late process", [](MemberPlan& m) { m.wake_latency = milliseconds{9}; }},
        {"slow link", [](MemberPlan& m) { m.downlink_bytes_per_s = 25'000'000; }},
        {"crash", [](MemberPlan& m) { m.crash_at = milliseconds{100}; }},
        {"abort", [](MemberPlan& m) { m.abort_at = milliseconds{100}; }},
        {"leap",
         [](MemberPlan& m) {
             m.leap_at = milliseconds{100};
             m.leap = milliseconds{900};
         }},
        {"flips", [](MemberPlan& m) { m.memory_flip_ppm = 50; }},
        {"short writes", [](MemberPlan& m) { m.short_write_ppm = 300'000; }},
    };
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        const double calm = others_held(nine_plan(seed));
        for (const Fault& fault : faults) {
            Plan plan = nine_plan(seed);
            fault.put(plan.member[kFaulty]);
            const double held = others_held(plan);
            CAPTURE(seed, fault.name, held / calm);
            CHECK(held < calm * 1.03);
            CHECK(held > calm * 0.97);
        }
    }
}

}  // namespace stage::sim
