// Measures how near to wire time a broadcast comes. `make sim ARGS=[table]` prints it.
//
// T is the time from the first chunk, when all are ready, until the last member holds a 16 MiB
// object over 1 Gbit/s links, divided by the time that its packets take on one link. RTTs,
// verifying and storing are included. MiB= and MBITS= change the object and the links.
#include "tests/sim/world/environment.h"
#include "tests/sim/world/world.h"

#include <catch2/catch.hpp>

#include <cstdio>

namespace stage::sim {
namespace {

struct Row {
    double time = 0;          ///< In wire times.
    double bytes = 0;         ///< On the busiest downlink, in wire times.
    std::uint64_t heard = 0;  ///< Control packets at the source.
};

Row measure(std::uint16_t members, std::uint32_t loss_ppm, std::uint32_t shared_ppm) {
    Plan plan = calm_plan(members, number_of("MiB", 16) << 20U);
    plan.seed = 7 + loss_ppm + shared_ppm;
    plan.link_bytes_per_s = number_of("MBITS", 1000) * 125'000;
    plan.configured_bytes_per_s = variable("SEARCHED") != nullptr ? 0 : plan.link_bytes_per_s;
    plan.loss.independent_ppm = loss_ppm;
    plan.loss.shared_ppm = shared_ppm;
    plan.heals_at = std::chrono::hours{1};
    plan.wake_latency = microseconds{static_cast<std::int64_t>(number_of("WAKE_US", 5))};
    World world{plan};
    world.run();
    for (const std::string& complaint : world.complaints()) {
        UNSCOPED_INFO(complaint);
    }
    UNSCOPED_INFO(world.report());
    CHECK(world.complaints().empty());
    CHECK(world.all_released());
    if (variable("LOUD") != nullptr) {
        std::printf("%s", world.report().c_str());
    }
    Row row;
    const double wire = static_cast<double>(plan.wire_time().count());
    row.time = world.times_wire();
    for (std::uint16_t rank = 0; rank < members; ++rank) {
        const double carried = static_cast<double>(world.network().downlink(rank).carried());
        row.bytes = std::max(row.bytes,
                             carried * 1e9 / static_cast<double>(plan.link_bytes_per_s) / wire);
    }
    for (const std::uint64_t count : world.host(plan.source).heard()) {
        row.heard += count;
    }
    return row;
}

/// One cell, for a closer look: MEMBERS= LOSS= SHARED= (in a million), TRACE=1.
TEST_CASE("one cell of the table", "[.cell]") {
    const Row row = measure(static_cast<std::uint16_t>(number_of("MEMBERS", 8)),
                            static_cast<std::uint32_t>(number_of("LOSS", 0)),
                            static_cast<std::uint32_t>(number_of("SHARED", 0)));
    std::printf("T/wire %.3f, bytes %.3f, %llu control packets to the source\n",
                row.time,
                row.bytes,
                static_cast<unsigned long long>(row.heard));
}

TEST_CASE("time over wire time", "[.table]") {
    std::printf(
        "%6s %8s %8s | %8s %8s %12s\n", "N", "loss", "shared", "T/wire", "bytes", "to source");
    for (const std::uint32_t loss : {0U, 10'000U, 50'000U}) {
        for (const auto members : std::initializer_list<std::uint16_t>{4, 8, 16, 64}) {
            for (const std::uint32_t shared : {0U, 10'000U}) {
                const Row row = measure(members, loss, shared);
                std::printf("%6u %7.1f%% %7.1f%% | %8.3f %8.3f %12llu\n",
                            members,
                            loss / 1e4,
                            shared / 1e4,
                            row.time,
                            row.bytes,
                            static_cast<unsigned long long>(row.heard));
                static_cast<void>(std::fflush(stdout));
            }
        }
    }
}

}  // namespace
}  // namespace stage::sim
