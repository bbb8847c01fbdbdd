// Measures a relay of many members: `build/sim-tests '[relay-scale]'`, one row for each run.
//
// MEMBERS= MiB= MBITS= CHUNK= (bytes), DEGREE= (255: two trees; 0, the default: what the source
// would choose). T is the time until the last member holds the object over the time that it
// takes on one link; EXTRA is the difference, as bytes on that link. BOUND_PERMILLE= fails a
// row whose T is above it. Long chunks make a run short, and a hop long.
#include "stager/config/relay_choice.h"
#include "tests/sim/relay/relay_world.h"
#include "tests/sim/world/environment.h"
#include "transport/core/relay/relay_tree.h"

#include <catch2/catch.hpp>

#include <cstdio>
#include <ctime>

namespace stage::sim {
namespace {

RelayPlan plan_of_row() {
    RelayPlan plan;
    plan.members = static_cast<std::uint32_t>(number_of("MEMBERS", 1025));
    plan.object_bytes = number_of("MiB", 64) << 20U;
    plan.bytes_per_s = number_of("MBITS", 10'000) * 125'000;
    plan.chunk_bytes = static_cast<std::uint32_t>(number_of("CHUNK", 131'072));
    plan.disk_bytes_per_s = 64'000'000'000;
    const auto asked = Relay::of_number(static_cast<std::uint8_t>(number_of("DEGREE", 0)));
    plan.relay = asked.value_or(
        choose_relay({.object_bytes = plan.object_bytes, .members = plan.members}).relay);
    return plan;
}

TEST_CASE("a relay of many members", "[.][relay-scale]") {
    const RelayPlan plan = plan_of_row();
    RelayWorld world{plan};
    world.run(std::chrono::hours{1});
    CHECK(world.faults().empty());
    const auto held = world.last_held();
    REQUIRE(held);
    std::uint64_t most_sent = 0;
    for (std::uint32_t rank = 0; rank < plan.members; ++rank) {
        most_sent = std::max(most_sent, world.bytes_sent(rank));
    }
    const std::chrono::duration<double> took = *held;
    const std::chrono::duration<double> wire = world.wire_time();
    std::printf(
        "%6u members %6llu MiB %llu Mbit/s, chunks of %u, degree %u | T %.4f, EXTRA %.1f MB | "
        "a member sent %.3f at most | %.0f s of CPU\n",
        plan.members,
        static_cast<unsigned long long>(plan.object_bytes >> 20U),
        static_cast<unsigned long long>(plan.bytes_per_s / 125'000),
        plan.chunk_bytes,
        unsigned{plan.relay.number()},
        took / wire,
        (took - wire).count() * static_cast<double>(plan.bytes_per_s) / 1e6,
        static_cast<double>(most_sent) / static_cast<double>(plan.object_bytes),
        static_cast<double>(std::clock()) / CLOCKS_PER_SEC);
    CHECK(took / wire <= static_cast<double>(number_of("BOUND_PERMILLE", 99'000)) / 1e3);
}

}  // namespace
}  // namespace stage::sim
