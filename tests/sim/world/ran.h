// Runs a scenario to its end without a complaint, and checks what its members must report.
#pragma once

#include "tests/sim/world/world.h"
#include "transport/core/feedback/representatives.h"

#include <catch2/catch.hpp>

namespace stage::sim {

inline constexpr std::uint64_t kMiB = 1U << 20U;

/// A calm_plan() whose members lose so much of what they are sent, for as long as it takes.
inline Plan lossy_plan(std::uint16_t members, std::uint64_t bytes, std::uint32_t loss_ppm) {
    Plan plan = calm_plan(members, bytes);
    plan.loss.independent_ppm = loss_ppm;
    plan.heals_at = std::chrono::hours{1};
    return plan;
}

/// Those that the source of such a world draws at first: its chance begins with them.
inline std::vector<Rank> drawn_representatives(const Plan& plan) {
    Prng world{plan.seed ^ kWorldChance};
    std::uint64_t seed = world.next();
    for (std::uint16_t rank = 0; rank < plan.source; ++rank) {
        seed = world.next();
    }
    Prng chance{seed};
    core::CoreConfig config;
    config.members = plan.members;
    config.source = Rank{plan.source};
    return core::Representatives{config, {}, chance}.ranks();
}

/// A world that has run, without a complaint.
class Ran {
  public:
    explicit Ran(const Plan& plan) : world{plan} {
        world.run();
        std::string all;
        for (const std::string& complaint : world.complaints()) {
            all += complaint + "\n";
        }
        INFO(plan.describe() << "\n" << all << world.report());
        CHECK(all.empty());
    }

    [[nodiscard]] core::Phase phase(std::uint16_t rank) const {
        return world.host(rank).outcome().phase;
    }
    /// Every live member failed and names `culprit`, with a message that has `words`.
    void all_name(std::uint16_t culprit, std::string_view words) const {
        INFO(world.report());
        for (std::uint16_t rank = 0; rank < world.plan().members; ++rank) {
            const core::Outcome& outcome = world.host(rank).outcome();
            if (world.host(rank).is_dead()) {
                continue;
            }
            CAPTURE(rank);
            CHECK(outcome.phase == core::Phase::failed);
            CHECK(outcome.culprit.value() == culprit);
            REQUIRE(outcome.why);
            CHECK(outcome.why->sentence().find(words) != std::string::npos);
        }
    }
    void all_released() const {
        INFO(world.report());
        CHECK(world.all_released());
    }
    [[nodiscard]] double times_wire(std::uint16_t rank) const { return world.times_wire(rank); }

    World world;
};

}  // namespace stage::sim
