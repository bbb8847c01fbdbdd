// Tests what the order of a disk's steps does to its member.
#include "tests/sim/world/ran.h"

#include <catch2/catch.hpp>

namespace stage::sim {
namespace {

/// Packets overtake each other, so that blocks come in any order.
Plan late_manifest(std::uint64_t seed) {
    Plan plan = lossy_plan(6, 0, 100'000);
    plan.block_bytes = {2048, 870, 1781, 90};
    plan.manifest_blocks = 2;
    plan.resident_blocks = 8;  // Too few for parities.
    plan.loss.reorder_ppm = 500'000;
    plan.loss.reorder_delay = milliseconds{2};
    plan.seed = seed;
    return plan;
}

/// What the disks of all members did.
SimDisk::Did sum(const World& world) {
    SimDisk::Did all;
    for (std::uint16_t rank = 0; rank < world.plan().members; ++rank) {
        const SimDisk::Did& did = world.host(rank).disk().did();
        all.deferred += did.deferred;
        all.apart += did.apart;
        all.together += did.together;
        all.left += did.left;
    }
    return all;
}

}  // namespace

// Of blocks 2, 1 and 0, in this order, block 2 was tried again before block 1 had its place,
// then never again: the member said that its disk was stuck.
TEST_CASE("blocks that come before any of a long manifest are stored", "[scenario]") {
    std::uint64_t deferred = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        CAPTURE(seed);
        const Ran ran{late_manifest(seed)};
        ran.all_released();
        deferred += sum(ran.world).deferred;
    }
    CHECK(deferred > 0);
}

TEST_CASE("a session's turns may come between any two steps of its disk", "[scenario]") {
    SimDisk::Did all;
    for (const Duration late : {Duration{microseconds{20}}, Duration{milliseconds{5}}}) {
        for (std::uint64_t seed = 1; seed <= 12; ++seed) {
            CAPTURE(late.count(), seed);
            Plan plan = late_manifest(seed);
            plan.block_bytes.insert(plan.block_bytes.end(), 8, 100'000);
            plan.resident_blocks = 6;
            plan.disk_step_late_max = late;
            const Ran ran{plan};
            ran.all_released();
            const SimDisk::Did did = sum(ran.world);
            all.deferred += did.deferred;
            all.apart += did.apart;
            all.together += did.together;
        }
    }
    CHECK(all.deferred > 0);
    CHECK(all.apart > 0);
    CHECK(all.together > 0);
}

TEST_CASE("a member that ends while its disk works is named, whatever waits for the disk",
          "[scenario]") {
    std::uint64_t left = 0;
    for (int at = 1; at <= 12; ++at) {
        for (const bool dies : {false, true}) {
            CAPTURE(at, dies);
            Plan plan = lossy_plan(5, 8 * kMiB, 10'000);
            plan.disk_step_late_max = milliseconds{20};
            plan.member[3].disk_bytes_per_s = 30'000'000;
            (dies ? plan.member[3].crash_at : plan.member[3].abort_at) = milliseconds{7} * at;
            const Ran ran{plan};
            ran.all_name(3, "");
            left += ran.world.host(3).disk().did().left;
        }
    }
    CHECK(left > 24);
}

TEST_CASE("a disk that fails between others' steps names its member", "[scenario]") {
    for (std::uint32_t access = 0; access < 8; ++access) {
        CAPTURE(access);
        Plan plan = lossy_plan(6, 8 * kMiB, 50'000);
        plan.manifest_blocks = 2;
        plan.disk_step_late_max = milliseconds{5};
        plan.member[3].store_fails_at = access;
        const Ran ran{plan};
        ran.all_name(3, "No space left on device");
    }
}

}  // namespace stage::sim
