// Tests that a small file reaches all members without a request. `make sim ARGS=[parity]`
// prints the table: how long after the source's last packet the receivers hold the object, in
// RTTs and apart from what a receiver without loss needs; and what the source sent for it.
#include "tests/sim/world/environment.h"
#include "tests/sim/world/world.h"
#include "transport/core/base/limits.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdio>

namespace stage::sim {
namespace {

constexpr Duration kRoundTrip = microseconds{50};

struct Row {
    double median = 0;  ///< Round trips from the last packet sent to the object held,
    double most = 0;    ///< of 999 in 1000,
    double all = 0;     ///< of the slowest.
    std::uint64_t requests = 0;
    std::uint64_t reconstructed = 0;
    std::uint64_t sent = 0;  ///< DATA of the source.
};

/// The study's network: 100 Gbit/s, a round trip of 50 us.
Plan small_plan(std::uint16_t receivers, std::uint32_t bytes, std::uint32_t loss_ppm) {
    Plan plan = calm_plan(static_cast<std::uint16_t>(receivers + 1U), bytes);
    plan.block_bytes = {150, bytes};  // a manifest and a file
    plan.seed = 11 + loss_ppm + bytes;
    plan.chunk_bytes = 1444;
    plan.link_bytes_per_s = 12'500'000'000;
    plan.configured_bytes_per_s = plan.link_bytes_per_s;
    plan.propagation = kRoundTrip / 4;  // host, switch, host and back
    plan.wake_latency = Duration{};
    plan.stamp_noise = Duration{};
    plan.disk_latency = Duration{};
    plan.disk_bytes_per_s = 1'000'000'000'000;
    plan.loss.independent_ppm = loss_ppm;
    plan.heals_at = std::chrono::hours{1};
    plan.events_max = ~std::uint64_t{0};
    return plan;
}

Row measure(const Plan& plan) {
    World world{plan};
    world.run();
    for (const std::string& complaint : world.complaints()) {
        UNSCOPED_INFO(complaint);
    }
    CHECK(world.complaints().empty());
    CHECK(world.all_released());
    const auto sent_at = world.host(plan.source).last_data_at();
    REQUIRE(sent_at);
    Row row;
    std::vector<double> times;
    for (std::uint16_t rank = 0; rank < plan.members; ++rank) {
        const Host& host = world.host(rank);
        row.requests += host.heard()[static_cast<std::size_t>(wire::PacketType::request)];
        row.reconstructed += host.core().reconstructed();
        if (rank != plan.source) {
            const Duration after = world.held_after(rank) - sent_at->time_since_epoch();
            times.push_back(static_cast<double>(after.count()) /
                            static_cast<double>(kRoundTrip.count()));
        }
    }
    std::ranges::sort(times);
    REQUIRE_FALSE(times.empty());
    row.median = times[times.size() / 2];
    row.most = times[(times.size() * 999 - 1) / 1000];
    row.all = times[times.size() - 1];
    row.sent = world.host(plan.source).data_sent();
    return row;
}

TEST_CASE("a small file needs no question: a round trip after its last packet all hold it") {
    for (const std::uint32_t loss : {0U, 10'000U}) {
        for (const auto receivers : std::initializer_list<std::uint16_t>{64, 1024}) {
            const Plan plan = small_plan(receivers, 4096, loss);
            const Row row = measure(plan);
            CAPTURE(loss, receivers, row.median, row.most, row.all, row.requests);
            CHECK(row.most <= 1.0);
            CHECK(row.requests <= receivers / 1000U);
            CHECK((row.reconstructed > 0) == (loss > 0));
            // Four chunks, eight parities, and hardly a repair.
            CHECK(row.sent <= 4U + 8U + receivers / 500U);
        }
    }
}

TEST_CASE("a small file takes as long for many as for few, and as few packets") {
    for (const auto receivers : {32, 256, 16384}) {
        const Plan plan = small_plan(static_cast<std::uint16_t>(receivers), 4096, 0);
        World world{plan};
        world.run();
        CHECK(world.complaints().empty());
        REQUIRE(world.all_released());
        CAPTURE(receivers, world.held_after().count());
        // From the start of all: one way, and the disk.
        CHECK(world.held_after() <= kRoundTrip);
        const Host& source = world.host(plan.source);
        CHECK(source.data_sent() == 4 + 8);
        const auto heard = [&](wire::PacketType type) {
            return source.heard()[static_cast<std::size_t>(type)];
        };
        // At most its children in the tree send DONE, and no member needs to send READY.
        CHECK(heard(wire::PacketType::done) <= 64);
        CHECK(heard(wire::PacketType::report) == 0);
        CHECK(heard(wire::PacketType::request) == 0);
        const Duration wait = core::EndingLimits{}.ready_jitter * plan.members;
        const auto early =
            static_cast<std::uint64_t>(receivers * kRoundTrip.count() / wait.count());
        CHECK(heard(wire::PacketType::ready) <= early);  // calls, before the offer came
    }
}

TEST_CASE("a member that is late for a small file solicits, and holds it two RTTs later") {
    Plan plan = small_plan(32, 4096, 0);
    for (const auto late : {7, 8, 31}) {
        plan.member[static_cast<std::size_t>(late)].start_at = milliseconds{5} * late;
    }
    World world{plan};
    world.run();
    CHECK(world.complaints().empty());
    REQUIRE(world.all_released());
    CHECK(world.held_after(1) <= kRoundTrip);  // No member waits for them.
    const Duration wait = core::EndingLimits{}.ready_jitter * plan.members;
    for (const auto late : {7, 8, 31}) {
        const Duration after = world.held_after(static_cast<std::uint16_t>(late)) -
                               plan.member[static_cast<std::size_t>(late)].start_at;
        CAPTURE(late, after.count());
        CHECK(after <= wait + 2 * kRoundTrip);
    }
    CHECK(world.host(plan.source).data_sent() == 12 + 3 * 4);
}

TEST_CASE("more lost than parities replace is requested") {
    Plan plan = small_plan(16, 60'000, 300'000);
    const Row row = measure(plan);
    CHECK(row.requests > 0);
}

TEST_CASE("parities of what memory bent are refused, and the object is pulled") {
    Plan plan = small_plan(8, 20'000, 50'000);
    for (std::uint16_t rank = 1; rank < plan.members; ++rank) {
        plan.member[rank].memory_flip_ppm = 50'000;
    }
    CHECK(measure(plan).reconstructed > 0);
}

TEST_CASE("time from a small file's last packet", "[.parity]") {
    std::printf("%7s %7s %6s | %8s %8s %8s | %9s %9s %6s\n",
                "N",
                "bytes",
                "loss",
                "median",
                "99.9 %",
                "slowest",
                "requests",
                "rebuilt",
                "sent");
    const auto members = static_cast<std::uint16_t>(number_of("MEMBERS", 16384));
    for (const std::uint32_t bytes : {1000U, 4096U, 16384U, 65536U}) {
        for (const std::uint32_t loss : {10'000U, 50'000U}) {
            for (const auto receivers : {std::uint16_t{64}, std::uint16_t{1024}, members}) {
                const Row row = measure(small_plan(receivers, bytes, loss));
                std::printf("%7u %7u %5.0f%% | %8.2f %8.2f %8.2f | %9llu %9llu %6llu\n",
                            receivers,
                            bytes,
                            loss / 1e4,
                            row.median,
                            row.most,
                            row.all,
                            static_cast<unsigned long long>(row.requests),
                            static_cast<unsigned long long>(row.reconstructed),
                            static_cast<unsigned long long>(row.sent));
                static_cast<void>(std::fflush(stdout));
            }
        }
    }
}

// A small object is not reported on, so the path's rate is not known: the OFFERs spent the
// tokens of the first train, and from the eighth OFFER on a late member had to request chunks.
TEST_CASE("a member that starts last has a small file as soon as one that started before",
          "[scenario]") {
    for (const std::uint16_t receivers : {std::uint16_t{16}, std::uint16_t{64}}) {
        Plan plan = small_plan(receivers, 4096, 0);
        plan.configured_bytes_per_s = 0;
        Duration last{};
        for (MemberPlan& member : plan.member) {
            last += &member == plan.member.data() ? Duration{} : microseconds{470};
            member.start_at = last;
        }
        World world{plan};
        world.run();
        CAPTURE(receivers, world.report());
        CHECK(world.complaints().empty());
        CHECK(world.all_released());
        CHECK(world.held_after() < last + milliseconds{4});
    }
}

// It was offered without its descriptors meanwhile, at each call: all answered each of these,
// and reported.
TEST_CASE("a small file that is read slowly is not talked about before it comes",
          "[scenario]") {
    for (const std::uint64_t bytes_per_s : {4'096'000U, 400'000U, 100'000U}) {  // 1, 10, 40 ms
        Plan plan = small_plan(16, 4096, 0);
        plan.member[0].disk_bytes_per_s = bytes_per_s;
        World world{plan};
        world.run();
        CAPTURE(bytes_per_s, world.report());
        CHECK(world.complaints().empty());
        CHECK(world.all_released());
        const auto& heard = world.host(0).heard();
        const std::uint32_t calls = bytes_per_s > 400'000 ? 1 : 3;
        CHECK(heard[static_cast<std::size_t>(wire::PacketType::ready)] <= (calls + 1) * 16);
        CHECK(heard[static_cast<std::size_t>(wire::PacketType::report)] <=
              (bytes_per_s > 100'000 ? 0U : 32U));
    }
}

}  // namespace
}  // namespace stage::sim
