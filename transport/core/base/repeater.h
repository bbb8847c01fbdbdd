// Schedules the repeats of a packet: at once, then at an interval that doubles, at once or
// after some repeats, up to a bound, for a number of times or until stopped.
#pragma once

#include "transport/base/units.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace stage::core {

class Repeater {
  public:
    struct Plan {
        Duration first;           ///< Between the first time and the second.
        Duration max;             ///< The longest interval.
        std::uint32_t times = 0;  ///< In all; 0: until stop().
        std::uint32_t even = 1;   ///< Intervals before they double.
    };

    /// Without a plan: start(now, plan) gives one.
    Repeater() = default;
    explicit Repeater(Plan plan) : plan_{plan} {}

    /// The first time is `now`. Restarts a running one.
    void start(Instant now) {
        next_ = now;
        gap_ = plan_.first;
        left_ = plan_.times;
        even_left_ = plan_.even;
    }
    void start(Instant now, const Plan& plan) {
        plan_ = plan;
        start(now);
    }
    void stop() { next_.reset(); }
    /// If running, the next time is no later than this.
    void hasten(Instant at) {
        if (next_) {
            next_ = std::min(*next_, at);
        }
    }

    [[nodiscard]] bool is_running() const { return next_.has_value(); }
    [[nodiscard]] std::optional<Instant> deadline() const { return next_; }

    /// True if the packet is due. Then the next time is set.
    [[nodiscard]] bool is_due(Instant now) {
        if (!next_ || now < *next_) {
            return false;
        }
        if (plan_.times != 0 && --left_ == 0) {
            next_.reset();
            return true;
        }
        next_ = now + gap_;
        even_left_ -= even_left_ > 0 ? 1U : 0U;
        gap_ = even_left_ > 0 ? gap_ : std::min(gap_ * 2, plan_.max);
        return true;
    }

  private:
    Plan plan_{};
    std::optional<Instant> next_;
    Duration gap_{};
    std::uint32_t left_ = 0;
    std::uint32_t even_left_ = 0;
};

/// The earlier of two deadlines, either of which may be absent.
[[nodiscard]] inline std::optional<Instant> earlier(std::optional<Instant> one,
                                                    std::optional<Instant> other) {
    if (!one || !other) {
        return one ? one : other;
    }
    return std::min(*one, *other);
}

}  // namespace stage::core
