// Raises the rate until a queue shows, or until less arrives than was sent.
//
// How large the steps are depends on what is known of the path: a train that the path delayed
// shows about what it takes (docs/protocol, 6.3.3).
#pragma once

#include "transport/core/rate/path_estimate.h"

namespace stage::core {

class StartState {
  public:
    /// `is_guess`: the path takes the first rate, and perhaps much more.
    void begin(double first_rate, bool is_guess) {
        first_rate_ = first_rate;
        is_guess_ = is_guess;
    }
    /// A train too short to be believed arrived at this rate: larger steps up to it.
    void expect(double rate) { expected_rate_ = rate; }

    /// `rate_max`: the upper bound of the rate.
    [[nodiscard]] RateStep next(const RateSample& sample, PathEstimate& path, double rate_max);

  private:
    [[nodiscard]] double raised(const PathEstimate& path, bool is_long) const;

    double first_rate_ = 0;
    bool is_guess_ = true;
    double expected_rate_ = 0;
};

}  // namespace stage::core
