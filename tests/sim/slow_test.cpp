// Measures what a slow, late or paused link or disk costs, and which members.
#include "tests/sim/world/ran.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <vector>

namespace stage::sim {
namespace {

/// Eight receivers at 100 Mbit/s, the rate is searched; the last one's link has a quarter.
Plan quarter_plan() {
    Plan plan = calm_plan(9, 64 * kMiB);
    plan.link_bytes_per_s = 12'500'000;
    plan.configured_bytes_per_s = 0;
    plan.stall_timeout = plan.linger = seconds{30};
    plan.member[8].downlink_bytes_per_s = plan.link_bytes_per_s / 4;
    return plan;
}

/// All receivers' disks take so much, but one operation of 16 is late.
Plan late_plan(std::uint16_t members, std::uint64_t bytes, std::uint64_t disk, Duration late) {
    Plan plan = calm_plan(members, bytes);
    plan.resident_blocks = 24;
    plan.socket_buffer_bytes = 8U << 20U;
    plan.configured_bytes_per_s = 0;
    plan.disk_bytes_per_s = disk;
    plan.disk_late_max = late;
    plan.member[0].disk_bytes_per_s = 10'000'000'000;
    return plan;
}

}  // namespace

TEST_CASE("a member that drops half finishes later, the others don't wait", "[scenario]") {
    Plan plan = calm_plan(12, 16 * kMiB);
    plan.member[5].extra_loss_ppm = 500'000;
    plan.heals_at = std::chrono::hours{1};
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.times_wire(4) < 1.05);
    CHECK(ran.times_wire(5) < 3.0);
}

TEST_CASE("a member with a slow disk finishes later, the others don't wait", "[scenario]") {
    Plan plan = calm_plan(8, 64 * kMiB);
    plan.resident_blocks = 16;
    plan.member[5].disk_bytes_per_s = 40'000'000;
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.times_wire(4) < 1.1);
    CHECK(ran.times_wire(5) > 2.0);
}

// (They took 1.15 to 1.35 times.)
TEST_CASE("where half of the disks are slow, the others don't wait", "[scenario]") {
    const std::uint16_t receivers =
        GENERATE(std::uint16_t{2}, std::uint16_t{4}, std::uint16_t{8});
    const std::uint64_t mib = GENERATE(64U, 256U);
    Plan plan = calm_plan(receivers + 1U, mib * kMiB);
    plan.resident_blocks = 16;
    for (std::uint16_t rank = 1; rank <= receivers / 2; ++rank) {
        plan.member[rank].disk_bytes_per_s = plan.link_bytes_per_s / 3;
    }
    const Ran ran{plan};
    ran.all_released();
    for (std::uint16_t rank = receivers / 2 + 1; rank <= receivers; ++rank) {
        CAPTURE(receivers, mib, rank, ran.times_wire(rank));
        CHECK(ran.times_wire(rank) < (receivers < 8 ? 1.05 : 1.03));
    }
    CAPTURE(receivers, mib, ran.times_wire(1));
    CHECK(ran.times_wire(1) > 2.0);
}

// It took 4.6, 12 and 23 times: each request that was lost in one overfull queue lowered the
// rate.
TEST_CASE("a member with a slow link uses all of it, without a configured rate", "[scenario]") {
    const std::uint64_t part = GENERATE(2U, 4U, 10U);
    const bool is_shaped = GENERATE(false, true);
    CAPTURE(part, is_shaped);
    Plan plan = is_shaped ? shaped_plan(9, 64 * kMiB, 100, 0) : calm_plan(9, 64 * kMiB);
    plan.link_bytes_per_s = 12'500'000;
    plan.configured_bytes_per_s = 0;
    plan.member[7].downlink_bytes_per_s = plan.link_bytes_per_s / part;
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.times_wire(3) < 1.01);
    CHECK(ran.times_wire(7) < 1.1 * static_cast<double>(part));
}

// All buffers held blocks that lacked chunks, and what the link did carry was dropped: 1.39.
TEST_CASE("a member with a slow link and few buffers in memory uses all of it", "[scenario]") {
    const std::uint64_t part = GENERATE(2U, 4U);
    Plan plan = calm_plan(9, 256 * kMiB);
    plan.link_bytes_per_s = 12'500'000;
    plan.configured_bytes_per_s = 0;
    plan.resident_blocks = 24;
    plan.spill_blocks = 4096;
    plan.member[7].downlink_bytes_per_s = plan.link_bytes_per_s / part;
    const Ran ran{plan};
    ran.all_released();
    CAPTURE(part, ran.times_wire(3), ran.times_wire(7));
    CHECK(ran.times_wire(3) < 1.03);
    CHECK(ran.times_wire(7) < 1.15 * static_cast<double>(part));
}

// The rate was halved again and again while nothing came, and rose from there as if the path
// took no more: 3 s without the network cost half a minute.
TEST_CASE("a member whose link stands still for a while pulls as fast again afterwards",
          "[scenario]") {
    Plan plan = quarter_plan();
    plan.partitions.push_back({.members = {8}, .begin = seconds{8}, .end = seconds{11}});
    plan.heals_at = seconds{11};
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.times_wire(8) < 5.5);
}

// Each bad streak lowered the rate, and too little was got back between them: 50 times. (A
// streak still costs much where it comes early: one seed of four takes 20 to 30 times.)
TEST_CASE("loss by chance does not slow a slow link's member down for good", "[scenario]") {
    Plan plan = quarter_plan();
    plan.loss.independent_ppm = 100'000;
    plan.heals_at = std::chrono::hours{1};
    std::vector<double> times;
    for (plan.seed = 1; plan.seed <= 7; ++plan.seed) {
        const Ran ran{plan};
        ran.all_released();
        times.push_back(ran.times_wire(8));
    }
    std::ranges::sort(times);
    CAPTURE(times);
    CHECK(times[3] < 12);
    CHECK(times.back() < 40);
}

TEST_CASE("where most disks are slow, the source goes with them", "[scenario]") {
    Plan plan = calm_plan(8, 64 * kMiB);
    plan.resident_blocks = 16;
    plan.disk_bytes_per_s = 40'000'000;
    plan.member[0].disk_bytes_per_s = 1'000'000'000;
    const Ran ran{plan};
    ran.all_released();
    // Hardly anything had to be dropped for want of room and fetched again.
    for (std::uint16_t rank = 1; rank < plan.members; ++rank) {
        CHECK(ran.world.host(rank).outcome().packets_repaired < plan.chunks() / 20);
    }
}

TEST_CASE("where disks are late now and then, the stream waits for room", "[scenario]") {
    Plan plan = late_plan(9, 128 * kMiB, 110'000'000, milliseconds{40});
    const auto repaired = [&plan](std::optional<Duration> stream_wait) {
        plan.stream_wait = stream_wait;
        std::uint64_t all = 0;
        for (plan.seed = 1; plan.seed <= 10; ++plan.seed) {
            const Ran ran{plan};
            ran.all_released();
            for (std::uint16_t rank = 1; rank < plan.members; ++rank) {
                all += ran.world.host(rank).outcome().packets_repaired;
            }
        }
        return all;
    };
    const std::uint64_t dropped = repaired(Duration::zero());
    const std::uint64_t waited = repaired(std::nullopt);
    CAPTURE(dropped, waited);
    CHECK(dropped > plan.chunks() / 4);
    // (Of 93,000 chunks 1,900 are repaired at each receiver without waiting, and 950 with: a
    // third of them in the first five seeds, and in single ones from none to 1.7 times. The
    // disks take 100 MB/s and the link brings 125, so that waits end before there is room.
    // Shorter ones, by what the socket held already, avoided all of its overflows and cost
    // twice the repairs.)
    CHECK(waited < dropped * 3 / 5);
}

// One window in which a receiver took nothing, because it waited for room, lowered the rate to
// a thousandth: 15 times the link's time.
TEST_CASE("a receiver that stood for a moment does not stop the source", "[scenario]") {
    Plan plan = late_plan(3, 256 * kMiB, 500'000'000, milliseconds{30});
    plan.link_bytes_per_s = 1'250'000'000;
    plan.events_max = 2'000'000'000;
    plan.seed = GENERATE(1U, 2U, 3U);
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.times_wire(1) < 8);
    CHECK(ran.times_wire(2) < 8);
}

}  // namespace stage::sim
