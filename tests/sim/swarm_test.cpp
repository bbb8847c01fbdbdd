// Checks the invariants in every drawn scenario: RUNS seeds from SEED on.
#include "tests/sim/world/environment.h"
#include "tests/sim/world/world.h"

#include <catch2/catch.hpp>

#include <iostream>
#include <string>

namespace stage::sim {
namespace {

TEST_CASE("every world keeps the truths", "[swarm]") {
    const std::uint64_t first = number_of("SEED", 1);
    const std::uint64_t runs = number_of("RUNS", 2000);
    const bool is_loud = variable("LOUD") != nullptr;
    for (std::uint64_t seed = first; seed < first + runs; ++seed) {
        const Plan plan = draw_plan(seed);
        if (is_loud || runs == 1) {
            std::cout << "seed " << seed << ": " << plan.describe() << std::endl;
        }
        World world{plan};
        world.run();
        if (is_loud || runs == 1) {
            std::cout << "  " << world.ran().count() / 1'000'000 << " ms\n" << world.report();
        }
        std::string complaints;
        for (const std::string& complaint : world.complaints()) {
            complaints += complaint + "\n";
        }
        if (!complaints.empty()) {
            const char* commit = variable("COMMIT");
            FAIL_CHECK("at commit " << (commit != nullptr ? commit : "unknown")
                                    << ": make sim SEED=" << seed << " RUNS=1\n"
                                    << plan.describe() << "\n"
                                    << complaints << world.report());
        }
    }
}

}  // namespace
}  // namespace stage::sim
