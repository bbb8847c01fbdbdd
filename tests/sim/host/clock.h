// The clock of a simulated host.
//
// It differs by hours from the simulation's time and may leap once; so may, independently, the
// clock of its kernel's stamps, which is a wall clock that is set now and then.
#pragma once

#include "tests/sim/network/events.h"
#include "tests/sim/plan/plan.h"

#include <algorithm>

namespace stage::sim {

class Clock {
  public:
    Clock(const MemberPlan& own, const Events& events) : own_{own}, events_{events} {}

    [[nodiscard]] Instant now() const { return events_.now() + offset(); }
    /// What the kernel writes on what arrives at a time of the world.
    [[nodiscard]] Instant stamp(Instant at) const {
        return at + own_.clock_offset + (has_leapt() ? own_.stamp_leap : Duration{});
    }
    /// When, in the world, the clock will say `due`, unless it leaps before.
    [[nodiscard]] Instant world_time(Instant due) const {
        // (A deadline long past must not fall off the end of time.)
        return std::max(due, now()) - offset();
    }

  private:
    [[nodiscard]] bool has_leapt() const {
        return own_.leap_at && events_.now() >= Instant{*own_.leap_at};
    }
    [[nodiscard]] Duration offset() const {
        return own_.clock_offset + (has_leapt() ? own_.leap : Duration{});
    }

    const MemberPlan& own_;
    const Events& events_;
};

}  // namespace stage::sim
