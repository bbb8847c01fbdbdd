// The scenarios: each bug that a seed found, and each fault by itself, by name.
#include "tests/sim/world/ran.h"

#include <catch2/catch.hpp>

#include <algorithm>

namespace stage::sim {

// ------------------------------------------------------------------------------ what must work

TEST_CASE("a calm group of two, and of many, holds the object", "[scenario]") {
    for (const auto members : std::initializer_list<std::uint16_t>{2, 3, 9, 10, 40}) {
        const Ran ran{calm_plan(members, 3 * kMiB + 1)};
        ran.all_released();
        CHECK(ran.world.host(0).data_sent() == ran.world.plan().chunks());
    }
}

TEST_CASE("one byte is an object", "[scenario]") {
    const Ran ran{calm_plan(3, 1)};
    ran.all_released();
}

TEST_CASE("any member may be the source", "[scenario]") {
    Plan plan = lossy_plan(12, kMiB, 50'000);
    plan.source = 11;
    const Ran ran{plan};
    ran.all_released();
}

TEST_CASE("clocks may be hours apart", "[scenario]") {
    Plan plan = lossy_plan(4, kMiB, 50'000);
    plan.member[1].clock_offset = std::chrono::hours{1};
    plan.member[2].clock_offset = -std::chrono::hours{1};
    const Ran ran{plan};
    ran.all_released();
}

TEST_CASE("the real seal carries it, and every flipped bit is noticed", "[scenario]") {
    Plan plan = lossy_plan(5, kMiB, 20'000);
    plan.is_really_sealed = true;
    plan.loss.corrupt_ppm = 30'000;
    plan.loss.duplicate_ppm = 100'000;
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.world.host(1).unopened() > 0);
}

TEST_CASE("what all lost is sent to the group again", "[scenario]") {
    Plan plan = calm_plan(20, 4 * kMiB);
    plan.loss.shared_ppm = 50'000;
    plan.heals_at = std::chrono::hours{1};
    const Ran ran{plan};
    ran.all_released();
    // Not once for each member: that would be twenty times 5 %. Nor first to the member that
    // requests it first, and then to the group.
    CHECK(ran.world.host(0).data_sent() < plan.chunks() * 27 / 25);
}

TEST_CASE("what one lost is given by peers, not by the source", "[scenario]") {
    const Ran ran{lossy_plan(20, 4 * kMiB, 50'000)};
    ran.all_released();
    CHECK(ran.world.host(0).data_sent() < ran.world.plan().chunks() * 21 / 20);
}

TEST_CASE("a rate twice the links' still ends", "[scenario]") {
    Plan plan = calm_plan(6, 8 * kMiB);
    plan.link_bytes_per_s = 25'000'000;
    plan.configured_bytes_per_s = 50'000'000;
    const Ran ran{plan};
    ran.all_released();
}

TEST_CASE("a partition heals, and the members behind it fetch what they missed", "[scenario]") {
    Plan plan = calm_plan(10, 16 * kMiB);
    plan.partitions.push_back(
        {.members = {7, 8, 9}, .begin = milliseconds{30}, .end = milliseconds{800}});
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.times_wire(1) < 1.1);
}

// ------------------------------------------------------------------------------ who is at
// fault

TEST_CASE("a full disk names its member, at every instant", "[scenario]") {
    for (std::uint32_t block = 0; block < 8; ++block) {
        Plan plan = lossy_plan(6, 8 * kMiB, 10'000);
        plan.member[3].store_fails_at = block;
        const Ran ran{plan};
        ran.all_name(3, "No space left on device");
    }
}

TEST_CASE("a source that can't be read names the source", "[scenario]") {
    Plan plan = calm_plan(6, 8 * kMiB);
    plan.member[0].store_fails_at = 5;
    const Ran ran{plan};
    ran.all_name(0, "can't be read");
}

TEST_CASE("a final name that is taken fails the group", "[scenario]") {
    Plan plan = calm_plan(6, kMiB);
    plan.member[2].finish_fails = true;
    const Ran ran{plan};
    ran.all_name(2, "final name is taken");
}

TEST_CASE("a disk that hangs is named by its own member", "[scenario]") {
    Plan plan = calm_plan(6, 8 * kMiB);
    plan.member[2].is_disk_stuck = true;
    const Ran ran{plan};
    ran.all_name(2, "disk of this node is stuck");
}

TEST_CASE("a member that receives nothing is named before any data is sent", "[scenario]") {
    Plan plan = calm_plan(6, 8 * kMiB);
    plan.member[4].crash_at = Duration{0};
    const Ran ran{plan};
    ran.all_name(4, "no datagram passes between the source and this node");
    CHECK(ran.world.host(0).data_sent() == 0);
}

TEST_CASE("a member that multicast does not reach is named, and learns the end", "[scenario]") {
    Plan plan = calm_plan(6, 8 * kMiB);
    plan.partitions.push_back({.members = {4},
                               .begin = Duration{0},
                               .end = std::chrono::hours{1},
                               .hears_nothing = true,
                               .says_nothing = false});
    plan.member[4].extra_loss_ppm = 1;  // marks it as the one at fault
    plan.member[4].abort_at = std::chrono::hours{2};
    const Ran ran{plan};
    CHECK(ran.phase(4) == core::Phase::failed);
    for (const std::uint16_t rank : {std::uint16_t{0}, std::uint16_t{1}}) {
        CHECK(ran.world.host(rank).outcome().culprit == Rank{4});
    }
}

// One way only: it hears each offer, and each says that it is awaited.
TEST_CASE("a member that the source does not hear says so itself", "[scenario]") {
    for (const std::uint64_t bytes : {std::uint64_t{3}, 8 * kMiB}) {
        Plan plan = calm_plan(6, bytes);
        plan.ready_timeout = seconds{60};
        plan.partitions.push_back({.members = {4},
                                   .begin = Duration{0},
                                   .end = std::chrono::hours{1},
                                   .hears_nothing = false,
                                   .says_nothing = true});
        plan.member[4].abort_at = std::chrono::hours{2};  // It is the one at fault.
        const Ran ran{plan};
        const core::Outcome& outcome = ran.world.host(4).outcome();
        CAPTURE(bytes);
        CHECK(outcome.phase == core::Phase::failed);
        CHECK(outcome.culprit == Rank{4});
        REQUIRE(outcome.why);
        CHECK(outcome.why->sentence().find("no datagram of this node arrives at the source") !=
              std::string::npos);
    }
}

TEST_CASE("where the source hears no member each of them names the source", "[scenario]") {
    Plan plan = calm_plan(6, 8 * kMiB);
    plan.ready_timeout = seconds{60};
    plan.partitions.push_back({.members = {0},
                               .begin = Duration{0},
                               .end = std::chrono::hours{1},
                               .hears_nothing = true,
                               .says_nothing = false});
    plan.member[0].abort_at = std::chrono::hours{2};
    const Ran ran{plan};
    for (std::uint16_t rank = 1; rank < 6; ++rank) {
        CAPTURE(rank);
        CHECK(ran.phase(rank) == core::Phase::failed);
        CHECK(ran.world.host(rank).outcome().culprit == Rank{0});
    }
}

TEST_CASE("a source that hears no member any more names itself", "[scenario]") {
    Plan plan = calm_plan(6, 64 * kMiB);
    plan.partitions.push_back({.members = {0},
                               .begin = milliseconds{100},
                               .end = std::chrono::hours{1},
                               .hears_nothing = true,
                               .says_nothing = false});
    plan.member[0].abort_at = std::chrono::hours{2};
    const Ran ran{plan};
    ran.all_name(0, "of any of the 5 other nodes");
}

TEST_CASE("a member that dies in the middle is named by its silence", "[scenario]") {
    for (const int at_ms : {5, 40, 80, 120}) {
        Plan plan = calm_plan(6, 16 * kMiB);
        plan.member[4].crash_at = milliseconds{at_ms};
        const Ran ran{plan};
        ran.all_name(4, "nothing was heard of this node");
    }
}

TEST_CASE("a member that no longer hears the source fails by itself, and says so",
          "[scenario]") {
    for (const int at_ms : {0, 3, 60, 140}) {
        Plan plan = calm_plan(6, 16 * kMiB);
        plan.member[0].crash_at = milliseconds{at_ms};
        const Ran ran{plan};
        INFO(ran.world.report());
        for (std::uint16_t rank = 1; rank < plan.members; ++rank) {
            const core::Outcome& outcome = ran.world.host(rank).outcome();
            CHECK(outcome.phase == core::Phase::failed);
            CHECK(outcome.culprit.value() == rank);
            REQUIRE(outcome.why);
            CHECK(outcome.why->sentence().find("the source") != std::string::npos);
        }
    }
}

TEST_CASE("a member whose network is cut fails by itself, the others name it", "[scenario]") {
    Plan plan = calm_plan(6, 64 * kMiB);
    plan.partitions.push_back(
        {.members = {4}, .begin = milliseconds{60}, .end = std::chrono::hours{1}});
    plan.member[4].abort_at = std::chrono::hours{2};  // marks it as the one at fault
    const Ran ran{plan};
    ran.all_name(4, "");
}

TEST_CASE("a member that is aborted from outside informs the group", "[scenario]") {
    for (const std::uint16_t rank : {std::uint16_t{0}, std::uint16_t{3}}) {
        Plan plan = calm_plan(6, 16 * kMiB);
        plan.member[rank].abort_at = milliseconds{50};
        const Ran ran{plan};
        ran.all_name(rank, "aborted from outside");
    }
}

// In a group of 40, members 1 to 4 have others below them in the completion tree.
TEST_CASE("an inner member may die at any instant", "[scenario]") {
    for (int at_us = 0; at_us < 40'000; at_us += 1'300) {
        Plan plan = calm_plan(40, kMiB);
        plan.seed = static_cast<std::uint64_t>(at_us) + 1;
        plan.stall_timeout = seconds{1};
        plan.linger = seconds{2};
        plan.ready_timeout = seconds{1};
        plan.member[1].crash_at = microseconds{at_us};
        const Ran ran{plan};
        // Either it had said that it holds the object, or it is named.
        const bool held = ran.phase(0) == core::Phase::released;
        if (held) {
            CHECK(ran.world.host(1).content().is_whole());
        } else {
            ran.all_name(1, "");
        }
    }
}

// --------------------------------------------------------------------------- found by seeds

TEST_CASE("seed 72: a descriptor that proved wrong is asked for again", "[scenario]") {
    Plan plan = calm_plan(4, 4 * kMiB);
    plan.member[1].memory_flip_ppm = 100;
    for (plan.seed = 1; plan.seed < 10; ++plan.seed) {
        const Ran ran{plan};
        ran.all_released();
    }
}

TEST_CASE("seed 73: an object of holes has no chunk to count by", "[scenario]") {
    Plan plan = calm_plan(3, 40 * kMiB);
    plan.hole_percent = 100;
    plan.resident_blocks = 10;
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.world.host(0).data_sent() == 0);
}

TEST_CASE("seed 181: a source that finished before all were heard still watches",
          "[scenario]") {
    Plan plan = lossy_plan(20, 1000, 300'000);
    plan.member[7].is_disk_stuck = true;
    plan.heals_at = milliseconds{500};
    const Ran ran{plan};
    ran.all_name(7, "");
}

TEST_CASE("seed 3395: blocks that come in later are asked for at once", "[scenario]") {
    Plan plan = lossy_plan(3, 0, 300'000);
    plan.block_bytes.assign(130, 700);
    plan.resident_blocks = 2;
    plan.heals_at = milliseconds{300};
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.world.held_after() < milliseconds{1500});
}

TEST_CASE("seed 14: the first missing block is let in", "[scenario]") {
    Plan plan = lossy_plan(6, 0, 32'000);
    plan.block_bytes.assign(155, 5'500);
    plan.resident_blocks = 5;
    plan.manifest_blocks = 2;
    for (plan.seed = 1; plan.seed < 10; ++plan.seed) {
        const Ran ran{plan};
        ran.all_released();
    }
}

TEST_CASE("seeds 1810, 3164: random loss does not stop the rate search", "[scenario]") {
    Plan plan = lossy_plan(7, 16 * kMiB, 50'000);
    plan.configured_bytes_per_s = 0;
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.times_wire(1) < 4.0);
}

TEST_CASE("seeds 5320, 9734: one bad moment does not set a member's pace", "[scenario]") {
    Plan plan = lossy_plan(11, 0, 230'000);
    plan.block_bytes.assign(88, 1'250);
    plan.link_bytes_per_s = 3'000'000;
    plan.configured_bytes_per_s = 0;
    plan.resident_blocks = 6;
    plan.heals_at = milliseconds{900};
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.world.held_after() < seconds{3});
}

TEST_CASE("seed 6983: a lossy member whose blocks fill slowly is not stuck", "[scenario]") {
    Plan plan = lossy_plan(8, 9 * kMiB, 300'000);
    plan.chunk_bytes = 512;
    plan.link_bytes_per_s = 3'000'000;
    plan.configured_bytes_per_s = 3'000'000;
    plan.member[1].extra_loss_ppm = 400'000;
    plan.heals_at = seconds{4};
    const Ran ran{plan};
    ran.all_released();
}

TEST_CASE("seed 481: a member behind a partition at the end hears RELEASE later",
          "[scenario]") {
    Plan plan = calm_plan(14, kMiB);
    plan.partitions.push_back(
        {.members = {9}, .begin = milliseconds{15}, .end = milliseconds{1100}});
    const Ran ran{plan};
    ran.all_released();
}

// The source repeats RELEASE for two seconds, and then it is gone.
TEST_CASE("a member that is cut off at the end, and holds the object, does not fail",
          "[scenario]") {
    Plan plan = calm_plan(6, 16 * kMiB);
    plan.member[2].finish_takes = milliseconds{400};  // All others wait for this one.
    plan.partitions.push_back(
        {.members = {4}, .begin = milliseconds{450}, .end = milliseconds{3450}});
    const Ran ran{plan};
    INFO(ran.world.report());
    ran.all_released();
    CHECK(ran.world.host(4).outcome().is_end_unheard);
    CHECK_FALSE(ran.world.host(3).outcome().is_end_unheard);
}

TEST_CASE("a member that holds the object may leave without harm to the others", "[scenario]") {
    Plan plan = calm_plan(6, 16 * kMiB);
    plan.member[2].finish_takes = milliseconds{800};
    plan.member[4].abort_at = milliseconds{600};
    const Ran ran{plan};
    INFO(ran.world.report());
    for (std::uint16_t rank = 0; rank < plan.members; ++rank) {
        CHECK((ran.phase(rank) == core::Phase::released) == (rank != 4));
    }
}

// Its disk is slower than every link: it did not wake up late, it had nothing to send.
TEST_CASE("a source that waits for its disk sends no bursts that the receivers' ports lose",
          "[scenario]") {
    Plan plan = calm_plan(5, 256 * kMiB);
    plan.configured_bytes_per_s = 0;
    plan.uplink_bytes_per_s = 10 * plan.link_bytes_per_s;
    plan.member[0].disk_bytes_per_s = plan.link_bytes_per_s / 3;
    const Ran ran{plan};
    INFO(ran.world.report());
    ran.all_released();
    for (std::uint16_t rank = 1; rank < plan.members; ++rank) {
        CHECK(ran.world.host(rank).outcome().packets_lost < plan.chunks() / 1000);
    }
}

// A DATA packet carries 16 bits of its number: a member that heard nothing of a sender for 2^15
// packets could open none of its answers.
TEST_CASE("seed 1566: a member that lost the whole first pass is answered all the same",
          "[scenario]") {
    const Ran ran{draw_plan(1566)};
    ran.all_released();
}

TEST_CASE("seed 6444: a window that a time-out opened is no reason to spin", "[scenario]") {
    const Ran ran{draw_plan(6444)};
    ran.all_released();
}

TEST_CASE("a member that slept while peers sent 2^15 packets can open theirs", "[scenario]") {
    Plan plan = calm_plan(4, 128 * kMiB);
    plan.chunk_bytes = 512;
    plan.stall_timeout = seconds{10};
    plan.partitions.push_back(
        {.members = {2}, .begin = milliseconds{20}, .end = milliseconds{1400}});
    plan.partitions.push_back(
        {.members = {3}, .begin = milliseconds{20}, .end = milliseconds{4500}});
    const Ran ran{plan};
    INFO(ran.world.report());
    ran.all_released();
    CHECK(ran.world.host(1).data_sent() > 40'000);  // to both sleepers
    CHECK(ran.world.host(3).unopened() < 2'148);    // a block's, until the next says the number
}

}  // namespace stage::sim
