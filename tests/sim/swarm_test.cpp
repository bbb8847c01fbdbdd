// Checks the invariants in every drawn scenario: RUNS seeds from SEED on.
//
// The first that fails is made smaller, in at most MINIMISE runs, and printed
// as a test case.
#include "tests/sim/plan/minimise.h"
#include "tests/sim/world/environment.h"
#include "tests/sim/world/marks.h"

#include <catch2/catch.hpp>

#include <cctype>
#include <iostream>
#include <string>

namespace stage::sim {
namespace {

constexpr std::uint64_t kRuns = 2000;

/// What is wrong, without members and times.
std::string kind_of(const World& world) {
    std::string kind = world.complaints().empty() ? "" : world.complaints().front();
    std::erase_if(kind, [](unsigned char c) { return std::isdigit(c) != 0; });
    return kind;
}

std::string minimised(const Plan& plan, const std::string& kind, unsigned tries) {
    const Plan least = minimise(
        plan,
        [&kind](const Plan& changed) {
            World world{changed};
            world.run();
            return kind_of(world) == kind;
        },
        tries);
    World world{least};
    world.run();
    return least.describe() + "\n" + (world.complaints().empty() ? "" : world.complaints()[0]) +
           "\n" + world.report() + scenario_text(least);
}

TEST_CASE("every scenario keeps the invariants", "[swarm]") {
    const std::uint64_t first = number_of("SEED", 1);
    const std::uint64_t runs = number_of("RUNS", kRuns);
    const bool is_loud = variable("LOUD") != nullptr;
    auto tries = static_cast<unsigned>(number_of("MINIMISE", 60));
    Marks marks;
    for (std::uint64_t seed = first; seed < first + runs; ++seed) {
        Plan plan = draw_plan(seed);
        draw_rails(plan);
        draw_strikes(plan);  // (Named scenarios of earlier seeds stay what they were.)
        if (is_loud || runs == 1) {
            std::cout << "seed " << seed << ": " << plan.describe() << std::endl;
        }
        World world{plan};
        world.run();
        marks.add(world);
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
                                    << complaints << world.report()
                                    << minimised(plan, kind_of(world), tries));
            tries = 0;  // Of the others the seed is enough.
        }
    }
    if (is_loud) {
        std::cout << marks.table();
    }
    if (first == 1 && runs >= kRuns) {
        INFO(marks.table());
        for (const Mark& mark : marks.all()) {
            CAPTURE(mark.way);
            CHECK(mark.members > 0);
        }
    }
}

TEST_CASE("a plan that fails is made as small as it can be", "[minimise]") {
    Plan plan = draw_plan(7);
    plan.members = 9;
    plan.member.resize(9);
    plan.source = 0;
    plan.block_bytes.assign(40, 1000);
    plan.member[3].crash_at = milliseconds{20};
    plan.partitions = {{.members = {2, 7}, .begin = Duration{}, .end = seconds{1}},
                       {.members = {1}, .begin = Duration{}, .end = seconds{1}}};
    const Plan least = minimise(
        plan,
        [](const Plan& changed) {
            return changed.members >= 4 && changed.member[3].crash_at &&
                   std::ranges::any_of(changed.partitions, [](const Partition& one) {
                       return one.members.front() == 2;
                   });
        },
        500);
    CHECK(least.members == 4);
    CHECK(least.block_bytes.size() == 1);
    CHECK(least.partitions.size() == 1);
    const std::string text = scenario_text(least);
    CHECK(text.find("plan.member[3].crash_at = milliseconds{20};") != std::string::npos);
    CHECK(text.find("plan.member[2].") == std::string::npos);
    CHECK(text.find("loss") == std::string::npos);
}

}  // namespace
}  // namespace stage::sim
