// Measures the cost of repairs where links are slow, losses many and cores few. `make sim
// ARGS=[pulls]` prints it: time in wire times, packets lost by the network and by full queues.
#include "tests/sim/world/environment.h"
#include "tests/sim/world/ran.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace stage::sim {
namespace {

/// Emulated hosts whose cores others need, too, so that each packet that comes costs `cost`.
Plan slow_plan(std::uint16_t members,
               std::uint64_t mbits,
               std::uint32_t loss_ppm,
               Duration cost) {
    Plan plan = shaped_plan(members, 4 * kMiB, mbits, loss_ppm);
    plan.stall_timeout = seconds{30};
    for (MemberPlan& member : plan.member) {
        member.packet_cost = cost;
    }
    return plan;
}

/// Share of the packets of the first pass that the middle member lost.
double lost(const World& world) {
    std::vector<double> lost;
    for (std::uint16_t rank = 1; rank < world.plan().members; ++rank) {
        lost.push_back(static_cast<double>(world.host(rank).outcome().packets_lost) /
                       static_cast<double>(world.plan().chunks()));
    }
    std::ranges::sort(lost);
    return lost[lost.size() / 2];
}

}  // namespace

TEST_CASE("a member that fills holes in many blocks is not stuck", "[scenario]") {
    Plan plan = calm_plan(12, 4 * kMiB);
    plan.configured_bytes_per_s = 0;
    plan.member[7].downlink_bytes_per_s = plan.link_bytes_per_s / 100;  // 0.84 s a block
    plan.stall_timeout = milliseconds{600};
    const Ran ran{plan};
    ran.all_released();
}

// What a host's processor takes is 1,400 packets a second, the link 1,000: the source must not
// drown in reports, nor the links in pulls as fast as a shaper's bucket let the first packets
// through. (When they did, these took 2.6 and 2.7 wire times.)
TEST_CASE("where cores are few and links slow, repairs don't collapse", "[scenario]") {
    for (const std::uint32_t loss : {10'000U, 50'000U}) {
        Plan plan = slow_plan(64, 12, loss, microseconds{700});
        for (plan.seed = 1; plan.seed < 4; ++plan.seed) {
            const Ran ran{plan};
            CAPTURE(loss, plan.seed);
            ran.all_released();
            CHECK(ran.world.times_wire() < 1.6);
            const auto type = static_cast<std::size_t>(wire::PacketType::report);
            CHECK(ran.world.host(0).heard()[type] < plan.chunks() * 4 / 3);
        }
    }
}

// A member with room for the descriptors of four blocks requests four at a time, and peers that
// have held them for long have none either: only the source has. (With all of them asked first,
// each time, it took four times as long.)
TEST_CASE("seed 32981: a peer that had a descriptor is asked for the next ones, too",
          "[scenario]") {
    Plan plan = draw_plan(32981);
    plan.descriptors_max = 4;
    const Ran ran{plan};
    ran.all_released();
}

// The source reads an old block again before it describes it, which takes longer than an RTT.
// The requester gave it up, and asked members that have none for each block, so that a block
// took 60 ms instead of 33.
TEST_CASE("seed 33000100: a source that describes late is asked for the next ones, too",
          "[scenario]") {
    Plan plan = draw_plan(33000100);
    draw_strikes(plan);
    const Ran ran{plan};
    ran.all_released();
}

TEST_CASE("a descriptor that all have forgotten is read again by the source", "[scenario]") {
    Plan plan = calm_plan(4, 64 * kMiB);
    plan.descriptors_max = 4;
    plan.resident_blocks = 8;
    plan.member[2].hears_group_until = milliseconds{60};  // It asks when all was sent.
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.world.host(0).content().loads() > 64);
}

// A slow stream must not slow the pulls that it waits for: a request that is refused costs no
// credit. (With the window closed until a block was pulled these took 19 s.)
TEST_CASE("seed 31311: pulls that are refused leave room for others", "[scenario]") {
    Plan plan = draw_plan(31311);
    plan.descriptors_max = 4;
    const Ran ran{plan};
    ran.all_released();
}

// Random loss of answers stays the same however slowly they are requested: a member that heard
// the stream keeps a part of its rate. (At the least rate there is two members took 10 s.)
TEST_CASE("seed 70602: repairs where a sixth is lost do not fall to the least rate",
          "[scenario]") {
    const Ran ran{draw_plan(70602)};
    ran.all_released();
    CHECK(ran.world.held_after() < seconds{8});
}

// A source whose window waits for what is pulled leaves the link to the pulls. (With a tenth of
// the rate for them, room for two blocks and for four descriptors, this took two minutes.)
TEST_CASE("seed 74645: pulls have the link while the stream stands still", "[scenario]") {
    const Ran ran{draw_plan(74645)};
    ran.all_released();
    CHECK(ran.world.held_after() < seconds{12});
}

// A stream that waits for repairs does not show what the path takes. (Repairs followed it, and
// it them, to 1 Mbit/s: this was not over after 31 s.)
TEST_CASE("seed 33075845: pulls do not slow down with the stream that waits for them",
          "[scenario]") {
    const Ran ran{draw_plan(33075845)};
    ran.all_released();
    CHECK(ran.world.held_after() < seconds{20});
}

TEST_CASE("pulls on slow links", "[.pulls]") {
    std::printf("%6s %5s %6s %9s | %8s %8s %9s\n",
                "Mbit/s",
                "N",
                "loss",
                "cost us",
                "median",
                "max",
                "lost");
    for (const std::uint64_t mbits : {number_of("MBITS", 12)}) {
        for (const std::uint64_t loss : {0U, 10'000U, 50'000U, 150'000U}) {
            for (const std::uint64_t cost : {0U, 300U, 700U}) {
                std::vector<double> times;
                std::vector<double> losses;
                for (std::uint64_t seed = 1; seed <= number_of("RUNS_EACH", 3); ++seed) {
                    Plan plan = slow_plan(static_cast<std::uint16_t>(number_of("MEMBERS", 64)),
                                          mbits,
                                          static_cast<std::uint32_t>(loss),
                                          microseconds{cost});
                    plan.seed = seed;
                    const Ran ran{plan};
                    times.push_back(ran.world.times_wire());
                    losses.push_back(lost(ran.world));
                }
                std::ranges::sort(times);
                std::printf("%6llu %5llu %5.1f%% %9llu | %8.3f %8.3f %8.2f%%\n",
                            static_cast<unsigned long long>(mbits),
                            static_cast<unsigned long long>(number_of("MEMBERS", 64)),
                            static_cast<double>(loss) / 1e4,
                            static_cast<unsigned long long>(cost),
                            times[times.size() / 2],
                            times.back(),
                            losses[losses.size() / 2] * 100);
                static_cast<void>(std::fflush(stdout));
            }
        }
    }
}

}  // namespace stage::sim
