// Estimates an RTT and the time-out that follows from it.
//
// It keeps the smoothed mean and deviation of RFC 6298. The time-out backs off while there is
// no answer.
#pragma once

#include "transport/base/units.h"

#include <algorithm>
#include <cstdint>

namespace stage::core {

class RttEstimator {
  public:
    struct Bounds {
        Duration first;       ///< Time-out before the first sample.
        Duration margin_min;  ///< Above the smoothed mean.
        Duration max;
    };

    explicit RttEstimator(Bounds bounds) : bounds_{bounds} {}

    void on_sample(Duration sample) {
        sample = std::max(sample, Duration{1});
        samples_ = std::min(samples_ + 1U, 2U);
        if (mean_ == Duration::zero()) {
            mean_ = sample;
            deviation_ = sample / 2;
            return;
        }
        const Duration error = sample > mean_ ? sample - mean_ : mean_ - sample;
        deviation_ += (error - deviation_) / 4;
        mean_ += (sample - mean_) / 8;
        mean_ = std::max(mean_, Duration{1});
    }

    [[nodiscard]] bool is_known() const { return mean_ != Duration::zero(); }
    [[nodiscard]] Duration mean() const { return is_known() ? mean_ : bounds_.first / 2; }

    /// By how much most samples are later than the mean; `unknown` before the first two.
    [[nodiscard]] Duration jitter(Duration unknown) const {
        return samples_ < 2 ? unknown : 4 * deviation_;
    }

    /// The time-out after `failures` in a row: doubled by each, at most 6 times. `margin_min`:
    /// used if it is more than the bounds' margin.
    [[nodiscard]] Duration timeout(std::uint32_t failures, Duration margin_min = {}) const {
        return backed_off(4 * deviation_, std::max(bounds_.margin_min, margin_min), failures);
    }
    /// A shorter time-out, for tries that cost little: one of ten answers arrives later.
    [[nodiscard]] Duration hasty_timeout(std::uint32_t failures, Duration margin_min) const {
        return backed_off(deviation_, margin_min, failures);
    }

  private:
    [[nodiscard]] Duration backed_off(Duration margin,
                                      Duration margin_min,
                                      std::uint32_t failures) const {
        const Duration once = is_known() ? mean_ + std::max(margin, margin_min) : bounds_.first;
        return std::min(once * (std::int64_t{1} << std::min(failures, 6U)), bounds_.max);
    }

    Bounds bounds_;
    Duration mean_{};
    Duration deviation_{};
    std::uint32_t samples_ = 0;  ///< 0, 1, or more.
};

}  // namespace stage::core
