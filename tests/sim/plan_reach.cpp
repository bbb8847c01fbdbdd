// To whom don't the switches forward the group?
#include "tests/sim/plan.h"

namespace stage::sim {

void draw_reach(Plan& plan) {
    Prng prng{plan.seed ^ 0x64656166U};
    if (prng.below(12) != 0) {
        return;
    }
    const std::uint64_t percent = prng.below(3) == 0 ? 100 : prng.below(100);
    const bool is_forgotten = prng.below(2) == 0;
    // (Who becomes deaf after its answer may be asked again, for smaller packets.)
    plan.ready_timeout += seconds{5};
    const auto draw = [&prng](Duration most) {
        return Duration{static_cast<Duration::rep>(
            prng.below(static_cast<std::uint64_t>(most.count()) + 1))};
    };
    for (MemberPlan& member : plan.member) {
        if (prng.below(100) >= percent) {
            continue;
        }
        member.hears_group_until = is_forgotten ? draw(seconds{2}) : Duration{};
        if (prng.below(3) == 0) {
            member.hears_group_from = *member.hears_group_until + draw(seconds{4});
        }
    }
}

}  // namespace stage::sim
