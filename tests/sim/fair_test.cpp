// Tests that the broadcast shares the links. `make sim ARGS=[fair]` prints it.
//
// TCP flows (cubic_flow.h) begin and end while it runs. The test measures the shares of each
// side in the narrowest link, in windows of time. MBITS= changes the links.
#include "tests/sim/world/cross_traffic.h"
#include "tests/sim/world/environment.h"
#include "tests/sim/world/ran.h"

#include <catch2/catch.hpp>

#include <cstdio>

namespace stage::sim {
namespace {

TEST_CASE("beside one CUBIC flow each side has its share, and takes it back", "[scenario]") {
    for (const std::uint64_t mbits : {25U, 100U, 1000U}) {
        Plan plan = cross_traffic_plan(5, mbits, 4);
        plan.flows.push_back(
            {.from = plan.source, .to = {}, .begin = seconds{1}, .end = seconds{4}});
        const Ran ran{plan};
        ran.all_released();
        const auto shares = ran.world.flow(0).shares(seconds{2}, seconds{4});
        CAPTURE(mbits, shares.own, shares.others);
        CHECK(shares.own > 0.25);
        CHECK(shares.others > 0.25);
        CHECK(shares.own + shares.others > 0.9);
        CHECK(ran.world.flow(0).shares(milliseconds{4500}, seconds{5}).others > 0.9);
    }
}

TEST_CASE("shares, half a second each", "[.fair]") {
    const std::uint64_t mbits = number_of("MBITS", 100);
    const auto members = static_cast<std::uint16_t>(number_of("MEMBERS", 9));
    for (const int kind : {0, 1, 2}) {
        Plan plan = cross_traffic_plan(members, mbits, 6);
        plan.seed = number_of("SEED", 1);
        if (kind == 0) {
            plan.flows.push_back(
                {.from = plan.source, .to = {}, .begin = seconds{1}, .end = seconds{5}});
        } else {
            const int many = kind == 1 ? plan.members - 1 : (plan.members - 1) / 4;
            add_flows(plan, many, seconds{1}, seconds{kind == 1 ? 5 : 20});
        }
        std::printf("%s, %llu Mbit/s\n",
                    kind == 0   ? "one flow on the source's uplink"
                    : kind == 1 ? "a flow on every downlink"
                                : "a flow on a quarter of the downlinks",
                    static_cast<unsigned long long>(mbits));
        const Ran ran{plan};
        ran.all_released();
        print_shares(ran.world, 0);
        std::printf("  T %.3f, member 1 %.3f, last member %.3f\n",
                    ran.world.times_wire(),
                    ran.world.times_wire(1),
                    ran.world.times_wire(static_cast<std::uint16_t>(plan.members - 1)));
    }
}

}  // namespace
}  // namespace stage::sim
