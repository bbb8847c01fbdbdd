// Tests what the order of a disk's operations does to its member.
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

}  // namespace

// Of blocks 2, 1 and 0, in this order, block 2 was tried again before block 1 had its place,
// then never again: the member said that its disk was stuck.
TEST_CASE("blocks that come before any of a long manifest are stored", "[scenario]") {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        CAPTURE(seed);
        const Ran ran{late_manifest(seed)};
        ran.all_released();
    }
}

}  // namespace stage::sim
