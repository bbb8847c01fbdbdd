// Draws to which members the switches do not forward the group, and which members learn that
// all listen.
#include "tests/sim/plan/plan.h"

#include <algorithm>

namespace stage::sim {

void draw_reach(Plan& plan) {
    Prng prng{plan.seed ^ 0x64656166U};
    if (prng.below(12) != 0) {
        return;
    }
    const std::uint64_t percent = prng.below(3) == 0 ? 100 : prng.below(100);
    const bool is_forgotten = prng.below(2) == 0;
    // (A member that becomes unreachable after its answer may be asked again, for smaller
    // packets.)
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

void draw_listening(Plan& plan) {
    Prng prng{plan.seed ^ 0x6c697374U};
    if (prng.below(2) != 0) {
        return;
    }
    // Links heal as late as this; a member that then hears an OFFER has a stall_timeout less
    // that.
    Duration at = milliseconds{prng.below(1500)} + plan.heals_at / 2;
    for (const MemberPlan& member : plan.member) {
        at = std::max(at, member.start_at + milliseconds{1});
    }
    plan.all_listen_at = at;
}

}  // namespace stage::sim
