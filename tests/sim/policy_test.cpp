// Compares the policies on which the papers differ.
//
// Repairs from a random peer or from the neighbour in a ring; a fence before the first chunk or
// none. `make sim ARGS=[policies]` prints both of each.
#include "tests/sim/world/ran.h"

#include <catch2/catch.hpp>

#include <cstdio>
#include <tuple>

namespace stage::sim {
namespace {

Plan lossy_plan(std::uint16_t members, std::uint32_t loss_ppm) {
    Plan plan = sim::lossy_plan(members, 16 * kMiB, loss_ppm);
    plan.seed = 9;
    return plan;
}

/// Nothing reaches or leaves the members from `first` on for so long: they start late.
Plan late_plan(std::uint16_t members, std::uint16_t first, Duration late) {
    Plan plan = lossy_plan(members, 0);
    Partition& absent = plan.partitions.emplace_back();
    for (std::uint16_t rank = first; rank < members; ++rank) {
        absent.members.push_back(rank);
    }
    absent.end = late;
    return plan;
}

/// When a member held the object, in ms from the start of the world.
double held_ms(const Ran& ran, std::uint16_t rank) {
    return static_cast<double>(ran.world.held_after(rank).count()) / 1e6;
}

std::uint64_t most_sent_by_a_peer(const Ran& ran) {
    std::uint64_t most = 0;
    for (std::uint16_t rank = 1; rank < ran.world.plan().members; ++rank) {
        most = std::max(most, ran.world.host(rank).data_sent());
    }
    return most;
}

}  // namespace

TEST_CASE("repairs come from the neighbour in a ring, or from a random peer", "[scenario]") {
    Plan plan = lossy_plan(16, 20'000);
    // Only this one loses anything: its neighbour gives all of it, chance spreads it.
    plan.loss.independent_ppm = 0;
    plan.member[9].extra_loss_ppm = 50'000;
    const Ran random{plan};
    plan.asks_ring = true;
    const Ran ring{plan};
    random.all_released();
    ring.all_released();
    const std::uint64_t lost = ring.world.host(9).outcome().packets_repaired;
    CHECK(lost > plan.chunks() / 30);
    // (A peer that was silent once too often is not asked for a while: then the one before it.)
    std::uint64_t given = 0;
    for (const std::uint16_t rank : {std::uint16_t{6}, std::uint16_t{7}, std::uint16_t{8}}) {
        given += ring.world.host(rank).data_sent();
    }
    CHECK(given > lost * 9 / 10);
    CHECK(ring.world.host(10).data_sent() == 0);
    CHECK(most_sent_by_a_peer(random) < lost / 3);
}

TEST_CASE("a ring passes over a peer that lacks it too, or is gone", "[scenario]") {
    Plan plan = lossy_plan(16, 20'000);
    plan.asks_ring = true;
    plan.partitions.push_back(
        {.members = {6, 7, 8}, .begin = milliseconds{20}, .end = milliseconds{600}});
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.times_wire(5) < 1.3);
    CHECK(ran.times_wire(9) < 1.3);
}

TEST_CASE("without a fence no member waits for one that starts late", "[scenario]") {
    Plan plan = late_plan(8, 7, milliseconds{400});
    const Ran fence{plan};
    plan.is_unfenced = true;
    const Ran none{plan};
    fence.all_released();
    none.all_released();
    CHECK(held_ms(fence, 1) > 500);
    CHECK(held_ms(none, 1) < 200);
    CHECK(held_ms(none, 7) > 400);
    CHECK(held_ms(none, 7) < held_ms(fence, 7) + 60);
}

TEST_CASE("without a fence a member that never answers is named all the same", "[scenario]") {
    Plan plan = calm_plan(6, kMiB);
    plan.is_unfenced = true;
    plan.member[4].crash_at = Duration{0};
    const Ran ran{plan};
    ran.all_name(4, "");
    CHECK(ran.world.host(0).data_sent() == plan.chunks());
}

TEST_CASE("without a fence packets are as small as any path wants them", "[scenario]") {
    Plan plan = calm_plan(6, 4 * kMiB);
    plan.is_unfenced = true;
    plan.chunk_bytes = 8928;
    plan.chunk_bytes_fallback = 1444;
    plan.member[3].path_body_max = 1444;
    const Ran ran{plan};
    ran.all_released();
    CHECK(ran.world.host(3).outcome().chunk_bytes == 1444);
}

TEST_CASE("repairs from a random peer and from a ring, side by side", "[.policies]") {
    for (const auto members : {std::uint16_t{16}, std::uint16_t{64}, std::uint16_t{256}}) {
        for (const auto& [name, independent, shared] :
             {std::tuple{"1 %", 10'000U, 0U},
              std::tuple{"5 %", 50'000U, 0U},
              std::tuple{"1 % and 1 % shared", 10'000U, 10'000U}}) {
            for (const bool asks_ring : {false, true}) {
                Plan plan = lossy_plan(members, independent);
                plan.loss.shared_ppm = shared;
                plan.asks_ring = asks_ring;
                const Ran ran{plan};
                ran.all_released();
                std::printf(
                    "%4u members, loss %-18s | %-6s | T %.3f | most sent by a peer %.3f\n",
                    members,
                    name,
                    asks_ring ? "ring" : "random",
                    ran.world.times_wire(),
                    static_cast<double>(most_sent_by_a_peer(ran)) /
                        static_cast<double>(plan.chunks()));
            }
        }
    }
}

TEST_CASE("a fence and none, side by side", "[.policies]") {
    for (const auto& [name, first, late] :
         {std::tuple{"none late", std::uint16_t{16}, milliseconds{0}},
          std::tuple{"one late by 100 ms", std::uint16_t{15}, milliseconds{100}},
          std::tuple{"one late by 1 s", std::uint16_t{15}, milliseconds{1000}},
          std::tuple{"half late by 100 ms", std::uint16_t{8}, milliseconds{100}},
          std::tuple{"half late by 1 s", std::uint16_t{8}, milliseconds{1000}}}) {
        for (const bool is_unfenced : {false, true}) {
            Plan plan = late_plan(16, first, late);
            plan.is_unfenced = is_unfenced;
            const Ran ran{plan};
            ran.all_released();
            std::printf("%-20s | %-5s | first member holds it after %7.1f ms, last %7.1f ms\n",
                        name,
                        is_unfenced ? "none" : "fence",
                        held_ms(ran, 1),
                        static_cast<double>(ran.world.held_after().count()) / 1e6);
        }
    }
}

}  // namespace stage::sim
