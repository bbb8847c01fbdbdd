// Tests of switches that do not forward the group to all members. `make sim ARGS=[reach]`
// prints it.
//
// The unreachable members fetch the object from the others, and no other member notices. No
// stage fails because multicast does.
#include "tests/sim/relay/relay_world.h"
#include "tests/sim/world/environment.h"
#include "tests/sim/world/ran.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdio>

namespace stage::sim {
namespace {

Plan plan_of(std::uint16_t members, std::uint64_t bytes, bool is_configured) {
    Plan plan = calm_plan(members, bytes);
    plan.configured_bytes_per_s = is_configured ? plan.configured_bytes_per_s : 0;
    return plan;
}

bool was_unreachable(const Ran& ran, std::uint16_t rank) {
    return ran.world.host(rank).outcome().was_unreachable;
}

/// How long after the start the last held it; printed.
Duration held_after(const Ran& ran, const char* what) {
    const Duration held = ran.world.held_after();
    std::printf("%-44s %7.3f s\n", what, std::chrono::duration<double>(held).count());
    return held;
}

}  // namespace

TEST_CASE("a member that the group does not reach fetches the object", "[scenario][reach]") {
    for (const bool is_configured : {true, false}) {
        for (const std::uint64_t bytes : {std::uint64_t{3}, std::uint64_t{40'000}, 64 * kMiB}) {
            Plan plan = plan_of(8, bytes, is_configured);
            plan.member[5].hears_group_until = Duration{};
            const Ran ran{plan};
            CAPTURE(is_configured, bytes);
            ran.all_released();
            CHECK(was_unreachable(ran, 5));
            CHECK_FALSE(was_unreachable(ran, 4));
            // A second until it is known, and then the time of a copy over its own link.
            CHECK(held_after(ran, "one of seven is not reached") <
                  seconds{1} + 2 * plan.wire_time());
        }
    }
}

TEST_CASE("where the group reaches no member all fetch the object", "[scenario][reach]") {
    for (const bool is_configured : {true, false}) {
        for (const std::uint16_t members : {std::uint16_t{2}, std::uint16_t{8}}) {
            Plan plan = plan_of(members, 64 * kMiB, is_configured);
            for (MemberPlan& each : plan.member) {
                each.hears_group_until = Duration{};
            }
            const Ran ran{plan};
            CAPTURE(is_configured, members);
            ran.all_released();
            // Not the members' number of times, as they give each other what they have.
            // Each receiver's share, and little more, is the source's.
            CHECK(ran.world.host(0).data_sent() < plan.chunks() * 3 / 2);
            const int times = members == 2 ? 2 : 5;
            CHECK(held_after(ran, "none is reached") < seconds{1} + times * plan.wire_time());
        }
    }
}

// It used to read the object at its disk's speed, far ahead of all, and again for each request.
TEST_CASE("where the group reaches no member the source reads a block once, when it is due",
          "[scenario][reach]") {
    for (const bool is_configured : {true, false}) {
        for (const std::uint16_t members : {std::uint16_t{2}, std::uint16_t{6}}) {
            Plan plan = plan_of(members, 256 * kMiB, is_configured);
            plan.resident_blocks = 24;
            for (MemberPlan& each : plan.member) {
                each.hears_group_until = Duration{};
            }
            const Ran ran{plan};
            CAPTURE(is_configured, members);
            ran.all_released();
            const std::uint64_t loads = ran.world.host(0).content().loads();
            std::printf("%u members, 256 blocks: the source read %llu times\n",
                        unsigned{members},
                        static_cast<unsigned long long>(loads));
            CHECK(loads <= 256 * 5 / 4);
            const int times = members == 2 ? 2 : 4;
            CHECK(held_after(ran, "none is reached") < seconds{1} + times * plan.wire_time());
        }
    }
}

// It then read what was left at its disk's speed, far ahead of all, and most of it again.
// (Those that hear the group request in another order than the others, so some is read twice or
// three times: 256 to 770 readings, depending on when they hear it again.)
TEST_CASE("where the group reaches some members again the source still reads on demand",
          "[scenario][reach]") {
    for (const bool is_configured : {true, false}) {
        for (const auto& [members, again] : {std::pair{2, 1}, {6, 1}, {6, 3}, {6, 5}}) {
            Plan plan = plan_of(static_cast<std::uint16_t>(members), 256 * kMiB, is_configured);
            plan.resident_blocks = 24;
            for (MemberPlan& each : plan.member) {
                each.hears_group_until = Duration{};
            }
            for (int rank = 1; rank <= again; ++rank) {
                plan.member[static_cast<std::size_t>(rank)].hears_group_from =
                    milliseconds{1500};
            }
            const Ran ran{plan};
            CAPTURE(is_configured, members, again);
            ran.all_released();
            const std::uint64_t loads = ran.world.host(0).content().loads();
            std::printf("%d members, %d heard it again: the source read %llu times\n",
                        members,
                        again,
                        static_cast<unsigned long long>(loads));
            CHECK(loads <= 256 * 13 / 4);
            const Duration last = held_after(ran, "reached again in the middle");
            CHECK(ran.world.held_after(0) > last / 2);
            CHECK(last < seconds{1} + (members == 2 ? 2 : 4) * plan.wire_time());
        }
    }
}

// The stream went on to its end for members that hold the object.
TEST_CASE("where all that are reached hold the object nothing more is sent to the group",
          "[scenario][reach]") {
    Plan plan = plan_of(4, 256 * kMiB, true);
    for (const std::uint16_t rank : {std::uint16_t{1}, std::uint16_t{2}}) {
        plan.member[rank].held_before = {{.first = BlockIndex{64}, .count = 192}};
    }
    plan.member[3].hears_group_until = Duration{};
    const Ran ran{plan};
    ran.all_released();
    const auto data = static_cast<std::size_t>(wire::PacketType::data);
    CHECK(ran.world.host(1).heard()[data] < plan.chunks() / 2);
    CHECK(held_after(ran, "all that are reached hold it") < seconds{1} + 2 * plan.wire_time());
}

// Holes, and what all have, are requested by no receiver.
// Steps of a second each took longer than a seed had (32007025).
TEST_CASE("where no member is reached the source reads on past what none requests",
          "[scenario][reach]") {
    Plan plan = plan_of(4, 300 * kMiB, true);
    plan.resident_blocks = 8;
    for (MemberPlan& each : plan.member) {
        each.hears_group_until = Duration{};
        each.held_before = {{.first = BlockIndex{20}, .count = 200}};
    }
    plan.member[0].held_before = {};
    const Ran ran{plan};
    ran.all_released();
    CHECK(held_after(ran, "no member is reached, and much is held") < seconds{4});
}

// Their PULSEs and answers have packet numbers, like the stream's packets, but are not reported
// on: the rate search never left its start, and each member that hears the group waited.
TEST_CASE("where many are not reached the stream is no slower", "[scenario][reach]") {
    Plan plan = plan_of(129, 8 * kMiB, false);
    for (std::uint16_t rank = 1; rank < plan.members; ++rank) {
        if (rank % 5 != 0) {
            plan.member[rank].hears_group_until = Duration{};
        }
    }
    plan.stall_timeout = seconds{30};
    const Ran ran{plan};
    ran.all_released();
    for (std::uint16_t rank = 5; rank < plan.members; rank += 5) {
        CAPTURE(rank);
        CHECK(ran.world.held_after(rank) < seconds{1} + 4 * plan.wire_time());
    }
    CHECK(held_after(ran, "103 of 128 are not reached") < seconds{1} + 10 * plan.wire_time());
}

TEST_CASE("where the group reaches no representative the source draws others",
          "[scenario][reach]") {
    for (const Duration until : {Duration{}, Duration{milliseconds{300}}}) {
        Plan plan = plan_of(80, 48 * kMiB, false);
        plan.loss.independent_ppm = 10'000;
        plan.heals_at = std::chrono::hours{1};
        const Ran calm{plan};
        const auto drawn = drawn_representatives(plan);
        REQUIRE(drawn.size() == 32);
        for (const Rank rank : drawn) {
            plan.member[rank.index()].hears_group_until = until;
        }
        const Ran ran{plan};
        ran.all_released();
        Duration last{};
        Duration last_calm{};
        for (std::uint16_t rank = 0; rank < plan.members; ++rank) {
            if (std::ranges::find(drawn, Rank{rank}) == drawn.end()) {
                last = std::max(last, ran.world.held_after(rank) - ran.world.ready_after());
                last_calm =
                    std::max(last_calm, calm.world.held_after(rank) - calm.world.ready_after());
            }
        }
        CAPTURE(until.count(), last.count(), last_calm.count());
        CHECK(last < last_calm * 3 / 2 + seconds{1});
    }
}

TEST_CASE("switches that forget listeners in the middle", "[scenario][reach]") {
    for (const auto& [many, is_configured] :
         {std::pair{1, true}, {7, true}, {1, false}, {7, false}}) {
        Plan plan = plan_of(8, 256 * kMiB, is_configured);
        for (int rank = 1; rank <= many; ++rank) {
            plan.member[static_cast<std::size_t>(rank)].hears_group_until = milliseconds{500};
        }
        const Ran ran{plan};
        CAPTURE(many, is_configured);
        ran.all_released();
        const int times = many == 1 ? 2 : 6;
        CHECK(held_after(ran, "forgotten after half a second") <
              seconds{2} + times * plan.wire_time());
    }
}

TEST_CASE("switches that remember it bring the stream again", "[scenario][reach]") {
    Plan plan = plan_of(8, 1024 * kMiB, true);
    plan.member[3].hears_group_until = milliseconds{500};
    plan.member[3].hears_group_from = seconds{4};
    const Ran ran{plan};
    ran.all_released();
    CHECK(was_unreachable(ran, 3));
    CHECK(held_after(ran, "forgotten for 3.5 s") < 2 * plan.wire_time());
}

// It was asked for its share again and again, though it let every request time out.
TEST_CASE("seeds 7001551, 9025733, 9027571: a dead member owns no share", "[scenario][reach]") {
    for (const std::uint64_t seed : {7'001'551U, 9'025'733U, 9'027'571U}) {
        CAPTURE(seed);
        const Ran ran{draw_plan(seed)};
        for (std::uint16_t rank = 0; rank < ran.world.plan().members; ++rank) {
            const bool is_dead = ran.world.host(rank).is_dead();
            CHECK((is_dead || ran.phase(rank) == core::Phase::released));
        }
    }
}

// One that had given a chunk was asked for all its shares, though it could give no more.
TEST_CASE("seed 9055059: a member that can't give its share loses it", "[scenario][reach]") {
    const Ran ran{draw_plan(9'055'059)};
    ran.all_released();
}

TEST_CASE("a member that starts late, where the group does not reach it", "[scenario][reach]") {
    Plan plan = plan_of(18, 80'000, true);  // Seed 310.
    plan.stall_timeout = seconds{20};
    plan.member[6].start_at = milliseconds{1600};
    for (MemberPlan& each : plan.member) {
        each.hears_group_until = Duration{};
    }
    const Ran ran{plan};
    ran.all_released();
    CHECK(was_unreachable(ran, 6));
}

TEST_CASE("a source whose node has it reads it for the only one that fetches it",
          "[scenario][reach]") {
    Plan plan = plan_of(7, 2 * kMiB, true);  // Seed 366.
    for (MemberPlan& each : plan.member) {
        each.holds_already = true;
    }
    plan.member[4].holds_already = false;
    plan.member[4].hears_group_until = Duration{};
    const Ran ran{plan};
    ran.all_released();
}

TEST_CASE("where only an unreachable member needs what comes next no member is waited for",
          "[scenario][reach]") {
    Plan plan = plan_of(8, 156 * kMiB, true);  // Seed 6852.
    plan.resident_blocks = 9;
    for (MemberPlan& each : plan.member) {
        each.held_before = {{.first = BlockIndex{0}, .count = 147}};
    }
    plan.member[5].held_before = {{.first = BlockIndex{1}, .count = 146}};
    plan.member[5].hears_group_until = Duration{};
    const Ran ran{plan};
    ran.all_released();
    CHECK(held_after(ran, "only an unreachable member needs it") < seconds{5});
}

TEST_CASE("large packets that don't pass, and a group that does not reach all",
          "[scenario][reach]") {
    Plan plan = plan_of(16, 4 * kMiB, true);  // Seed 4469.
    plan.chunk_bytes = 8928;
    plan.chunk_bytes_fallback = 1444;
    plan.member[2].path_body_max = 1444;
    plan.member[5].hears_group_until = Duration{};
    plan.member[6].hears_group_until = milliseconds{100};
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.world.host(5).outcome().chunk_bytes == 1444);
}

TEST_CASE("seed 42445: few hear the group, on a slow link with few blocks of memory",
          "[scenario][reach]") {
    Plan plan = draw_plan(42445);
    plan.all_listen_at.reset();
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.world.held_after() < seconds{15});
}

TEST_CASE("seeds 11041, 24976, 26263, 27167: most that hold it can give nothing, or all can",
          "[scenario][reach]") {
    for (const std::uint64_t seed : {11041U, 24976U, 26263U, 27167U}) {
        CAPTURE(seed);
        const Ran ran{draw_plan(seed)};
        ran.all_released();
    }
}

TEST_CASE("seeds 12285, 12430: what the source sends to many is not taken for its limit",
          "[scenario][reach]") {
    for (const std::uint64_t seed : {12285U, 12430U}) {
        CAPTURE(seed);
        const Ran ran{draw_plan(seed)};
        ran.all_released();
    }
}

TEST_CASE("seed 160910: what is wrong in one memory is not given on for ever",
          "[scenario][reach]") {
    const Ran ran{draw_plan(160910)};
    ran.all_released();
}

TEST_CASE("seeds 107359 and 156145: a peer that is slower than others is no loss of the path",
          "[scenario][reach]") {
    for (const std::uint64_t seed : {107359U, 156145U}) {
        const Ran ran{draw_plan(seed)};
        CAPTURE(seed);
        ran.all_released();
    }
}

TEST_CASE("seed 154156: a single receiver asks the source for what its path takes",
          "[scenario][reach]") {
    const Ran ran{draw_plan(154156)};
    ran.all_released();
}

TEST_CASE(
    "seed 8057: the only one that hears the group has a clock that counts from below zero",
    "[scenario][reach]") {
    const Ran ran{draw_plan(8057)};
    ran.all_released();
}

/// In wire times, from the start: how long until all hold it, and what the source sent. MiB=,
/// MEMBERS=, MBITS=, SEARCHED=1.
TEST_CASE("a few, many or all are not reached", "[.reach_table]") {
    const auto members = static_cast<std::uint16_t>(number_of("MEMBERS", 17));
    for (std::uint16_t cut = 0; cut < number_of("UNREACHED", members);
         cut = cut < 2 ? cut + 1 : cut * 2) {
        for (const std::uint16_t many : {cut, static_cast<std::uint16_t>(members - 1 - cut)}) {
            Plan plan =
                plan_of(members, number_of("MiB", 64) << 20U, variable("SEARCHED") == nullptr);
            plan.link_bytes_per_s = number_of("MBITS", 1000) * 125'000;
            plan.resident_blocks = static_cast<std::uint32_t>(number_of("RESIDENT", 64));
            plan.loss.independent_ppm = static_cast<std::uint32_t>(number_of("LOSS", 0));
            plan.heals_at = plan.loss.independent_ppm > 0 ? std::chrono::hours{1} : Duration{};
            plan.configured_bytes_per_s =
                plan.configured_bytes_per_s > 0 ? plan.link_bytes_per_s : 0;
            for (std::uint16_t rank = members - many; rank < members; ++rank) {
                plan.member[rank].hears_group_until = Duration{};
            }
            const Ran ran{plan};
            ran.all_released();
            const double wire = static_cast<double>(plan.wire_time().count());
            const double chunks = static_cast<double>(plan.chunks());
            Duration hearing{};
            for (std::uint16_t rank = 1; rank < members - many; ++rank) {
                hearing = std::max(hearing, ran.world.held_after(rank));
            }
            std::printf("%3u of %u: all %7.2f  reached %7.2f  source sent %6.2f\n",
                        many,
                        members - 1,
                        static_cast<double>(ran.world.held_after().count()) / wire,
                        static_cast<double>(hearing.count()) / wire,
                        static_cast<double>(ran.world.host(0).data_sent()) / chunks);
            std::fflush(stdout);
        }
    }
}

/// In wire times, from the first chunk: how long until all hold it where switches forget
/// listeners when so much has passed. MiB=, MEMBERS=, MBITS=, SEARCHED=1, STALL= (ms).
TEST_CASE("multicast ceases in mid-transfer", "[.cease_table]") {
    const auto members = static_cast<std::uint16_t>(number_of("MEMBERS", 8));
    for (const std::uint64_t percent : {0U, 10U, 50U, 90U}) {
        for (const int many : {1, members / 2, members - 1}) {
            Plan plan =
                plan_of(members, number_of("MiB", 64) << 20U, variable("SEARCHED") == nullptr);
            plan.link_bytes_per_s = number_of("MBITS", 1000) * 125'000;
            plan.configured_bytes_per_s =
                plan.configured_bytes_per_s > 0 ? plan.link_bytes_per_s : 0;
            plan.stall_timeout = milliseconds{number_of("STALL", 30'000)};
            const Duration cut = plan.wire_time() * percent / 100 + milliseconds{5};
            for (int rank = members - many; rank < members && percent > 0; ++rank) {
                plan.member[static_cast<std::size_t>(rank)].hears_group_until = cut;
            }
            const Ran ran{plan};
            ran.all_released();
            std::printf(
                "after %2u %%: %2d of %u: all %6.2f, reached %6.2f, source sent %5.2f\n",
                unsigned(percent),
                many,
                members - 1U,
                ran.world.times_wire(),
                ran.world.times_wire(1),
                static_cast<double>(ran.world.host(0).data_sent()) /
                    static_cast<double>(plan.chunks()));
            std::fflush(stdout);
        }
    }
}

/// In wire times of the object: a relay whose members hold its first blocks already, each up to
/// a few more or fewer, as after a multicast that ceased for all of them. MiB=, MEMBERS=.
TEST_CASE("a relay goes on where multicast ceased", "[.cease_table]") {
    const auto members = static_cast<std::uint32_t>(number_of("MEMBERS", 8));
    const auto blocks = static_cast<std::uint32_t>(number_of("MiB", 64));
    for (const std::uint32_t percent : {10U, 50U}) {
        for (const std::uint32_t apart : {0U, 1U, 4U, 16U}) {
            RelayPlan plan{.members = members, .object_bytes = std::uint64_t{blocks} << 20U};
            Prng chance{7};
            for (std::uint32_t rank = 1; rank < members; ++rank) {
                const auto more = static_cast<std::uint32_t>(chance.below(apart + 1));
                plan.held_before[rank] = {
                    {.first = BlockIndex{0}, .count = blocks * percent / 100 + more}};
            }
            RelayWorld world{plan};
            world.run(std::chrono::minutes{5});
            const auto held = world.last_held();
            REQUIRE(held);
            const double wire = static_cast<double>(world.wire_time().count());
            std::printf("after %2u %%, up to %2u blocks apart: %5.2f, source sent %5.2f\n",
                        percent,
                        apart,
                        static_cast<double>(held->count()) / wire,
                        static_cast<double>(world.bytes_sent(0)) /
                            static_cast<double>(plan.object_bytes));
        }
    }
}

}  // namespace stage::sim
