// Draws over how many flows and rails a stream goes, and what is wrong with the rails.
#include "tests/sim/plan/plan.h"

#include <algorithm>

namespace stage::sim {
namespace {

constexpr std::uint8_t kFlowsMost = 16;
constexpr std::uint8_t kRailsMost = 4;

Duration draw_time(Prng& prng, Duration most) {
    return Duration{
        static_cast<Duration::rep>(prng.below(static_cast<std::uint64_t>(most.count()) + 1))};
}

/// The first rail is the peers', too: its faults are those of a partition and worse, which are
/// drawn elsewhere. The others may be broken for good.
RailFault draw_fault(Prng& prng, const Plan& plan) {
    RailFault fault;
    fault.rail = static_cast<std::uint8_t>(prng.below(plan.rails));
    if (prng.below(2) == 0) {
        fault.of = static_cast<std::uint16_t>(prng.below(2) == 0 ? plan.source
                                                                 : prng.below(plan.members));
    }
    fault.harm = static_cast<RailHarm>(fault.rail == 0 ? 3 + prng.below(2) : prng.below(5));
    fault.begin = draw_time(prng, milliseconds{400});
    if (prng.below(2) == 0) {
        fault.end = fault.begin + milliseconds{1} + draw_time(prng, milliseconds{800});
    }
    if (fault.harm == RailHarm::lossy) {
        fault.loss_ppm = static_cast<std::uint32_t>(1 + prng.below(300'000));
    }
    if (fault.harm == RailHarm::slow) {
        fault.bytes_per_s = plan.link_bytes_per_s / (2 + prng.below(3));
    }
    return fault;
}

}  // namespace

void draw_rails(Plan& plan) {
    Prng prng{plan.seed ^ 0x7261696cU};
    if (prng.below(5) != 0) {
        return;
    }
    plan.stream_flows =
        prng.below(8) == 0 ? kFlowsMost : static_cast<std::uint8_t>(2 + prng.below(4));
    if (prng.below(2) == 0) {
        plan.flow_late_max = draw_time(prng, milliseconds{3});
    }
    if (prng.below(2) == 0) {
        return;
    }
    const std::uint8_t most = std::min(plan.stream_flows, kRailsMost);
    plan.rails = static_cast<std::uint8_t>(2 + prng.below(most - 1U));
    for (std::uint64_t faults = prng.below(4); faults > 0; --faults) {
        plan.rail_faults.push_back(draw_fault(prng, plan));
    }
}

bool Plan::has_rail_harm(RailHarm harm,
                         std::uint16_t of,
                         std::size_t rail,
                         Duration time) const {
    return std::ranges::any_of(rail_faults, [&](const RailFault& fault) {
        return fault.harm == harm && fault.is_of(of, rail) && fault.is_at(time);
    });
}

std::uint64_t Plan::rail_bytes_per_s(std::uint16_t of, std::size_t rail) const {
    for (const RailFault& fault : rail_faults) {
        if (fault.harm == RailHarm::slow && fault.is_of(of, rail)) {
            return fault.bytes_per_s;
        }
    }
    return 0;
}

}  // namespace stage::sim
