// Does the broadcast share the links?  `make sim ARGS=[fair]` prints it.
//
// Beside TCP flows (cubic_flow.h) that begin and end while it runs: what each side has of the
// narrowest link, as shares of it, in windows of time. MBITS= changes the links.
#include "tests/sim/environment.h"
#include "tests/sim/world.h"

#include <catch2/catch.hpp>

#include <cstdio>
#include <string>

namespace stage::sim {
namespace {

Plan plan_of(std::uint16_t members, std::uint64_t mbits, double seconds_alone) {
    const std::uint64_t link = mbits * 125'000;
    Plan plan = calm_plan(
        members, static_cast<std::uint64_t>(static_cast<double>(link) * seconds_alone * 0.95));
    plan.told_bytes_per_s = 0;
    plan.link_bytes_per_s = link;
    plan.propagation = microseconds{50};
    plan.heals_at = std::chrono::hours{1};
    plan.stall_timeout = seconds{30};
    plan.linger = seconds{30};
    plan.uplink_buffer_bytes = static_cast<std::uint32_t>(number_of("BUFFER_KIB", 256)) << 10U;
    plan.events_max = 400'000'000;
    return plan;
}

void run(World& world) {
    world.run();
    std::string all;
    for (const std::string& complaint : world.complaints()) {
        all += complaint + "\n";
    }
    INFO(all << world.report());
    CHECK(all.empty());
    CHECK(world.all_released());
}

void print(const World& world, std::size_t flow) {
    for (int tenth = 0; Duration{milliseconds{100}} * tenth < world.ran(); tenth += 5) {
        const auto shares =
            world.flow(flow).shares(milliseconds{100} * tenth, milliseconds{100} * (tenth + 5));
        std::printf(
            "  %4.1f s: broadcast %.2f, flow %.2f\n", tenth / 10.0, shares.others, shares.own);
    }
}

TEST_CASE("beside one CUBIC flow each side has its share, and takes it back", "[scenario]") {
    for (const std::uint64_t mbits : {25U, 100U, 1000U}) {
        Plan plan = plan_of(5, mbits, 4);
        plan.flows.push_back(
            {.from = plan.source, .to = {}, .begin = seconds{1}, .end = seconds{4}});
        World world{plan};
        run(world);
        const auto shares = world.flow(0).shares(seconds{2}, seconds{4});
        CAPTURE(mbits, shares.own, shares.others);
        CHECK(shares.own > 0.25);
        CHECK(shares.others > 0.25);
        CHECK(shares.own + shares.others > 0.9);
        CHECK(world.flow(0).shares(milliseconds{4500}, seconds{5}).others > 0.9);
    }
}

TEST_CASE("shares, half a second each", "[.fair]") {
    const std::uint64_t mbits = number_of("MBITS", 100);
    const auto members = static_cast<std::uint16_t>(number_of("MEMBERS", 9));
    for (const int kind : {0, 1, 2}) {
        Plan plan = plan_of(members, mbits, 6);
        plan.seed = number_of("SEED", 1);
        if (kind == 0) {
            plan.flows.push_back(
                {.from = plan.source, .to = {}, .begin = seconds{1}, .end = seconds{5}});
        } else {
            const int many = kind == 1 ? plan.members - 1 : (plan.members - 1) / 4;
            for (int i = 0; i < many; ++i) {
                plan.flows.push_back({.from = {},
                                      .to = static_cast<std::uint16_t>(plan.members - 1 - i),
                                      .begin = seconds{1},
                                      .end = seconds{kind == 1 ? 5 : 20}});
            }
        }
        std::printf("%s, %llu Mbit/s\n",
                    kind == 0   ? "one flow on the source's uplink"
                    : kind == 1 ? "a flow on every downlink"
                                : "a flow on a quarter of the downlinks",
                    static_cast<unsigned long long>(mbits));
        World world{plan};
        run(world);
        print(world, 0);
        std::printf("  T %.3f, member 1 %.3f, last member %.3f\n",
                    world.times_wire(),
                    world.times_wire(1),
                    world.times_wire(static_cast<std::uint16_t>(plan.members - 1)));
    }
}

}  // namespace
}  // namespace stage::sim
