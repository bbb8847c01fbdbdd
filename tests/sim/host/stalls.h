// Draws when a host stands still: for a time, now and then, at random. Every caller gets the
// same windows.
#pragma once

#include "tests/sim/plan/plan.h"

#include <deque>

namespace stage::sim {

class Stalls {
  public:
    Stalls(const StallPlan& plan, std::uint64_t seed) : plan_{plan}, prng_{seed} {}

    /// `when`, or when the host goes on again. May be asked for a time that lies a little back.
    [[nodiscard]] Instant awake(Instant when) {
        if (plan_.every <= Duration::zero()) {
            return when;
        }
        while (windows_.empty() || windows_.back().end <= when) {
            add();
        }
        while (windows_.size() > kKept) {
            windows_.pop_front();
        }
        for (const Window& window : windows_) {
            if (when >= window.begin && when < window.end) {
                return window.end;
            }
        }
        return when;
    }

  private:
    struct Window {
        Instant begin{};
        Instant end{};
    };
    static constexpr std::size_t kKept = 16;

    [[nodiscard]] Duration draw(Duration below) {
        const auto most = std::max<Duration::rep>(below.count(), 1);
        return Duration{
            static_cast<Duration::rep>(prng_.below(static_cast<std::uint64_t>(most)))};
    }
    void add() {
        const Instant before = windows_.empty() ? Instant{} : windows_.back().end;
        const Instant begin = before + draw(2 * plan_.every);
        windows_.push_back(
            {.begin = begin, .end = begin + plan_.least + draw(plan_.most - plan_.least)});
    }

    StallPlan plan_;
    Prng prng_;
    std::deque<Window> windows_;
};

}  // namespace stage::sim
