// Sends slower than the path takes until the queue is gone.
//
// If the queue does not go, another flow fills it, or there is none and the path became longer.
#pragma once

#include "transport/base/units.h"
#include "transport/core/rate/path_estimate.h"

#include <utility>

namespace stage::core {

class DrainState {
  public:
    void begin(Instant now, const RateSample& sample, PathEstimate& path);
    /// No other flow has a share of the path. Counts until a queue has drained.
    void set_alone() { is_alone_ = true; }

    [[nodiscard]] RateStep next(Instant now, const RateSample& sample, PathEstimate& path);

    /// True, once, if the path became longer: the delays seen so far belong to another path.
    [[nodiscard]] bool take_new_path() { return std::exchange(has_new_path_, false); }

  private:
    [[nodiscard]] RateStep on_short_queue(const RateSample& sample, PathEstimate& path);
    [[nodiscard]] RateStep on_outrun(Instant now, const RateSample& sample, PathEstimate& path);
    [[nodiscard]] RateStep on_moving_queue(Instant now,
                                           const RateSample& sample,
                                           PathEstimate& path,
                                           double unit);
    [[nodiscard]] RateStep cruise(const PathEstimate& path);
    void restart_clock(Instant now, const RateSample& sample);

    double queue_ = 0;      ///< The queue when the clock started, seconds.
    Instant drained_at_{};  ///< By when it should be gone.
    unsigned samples_ = 0;  ///< Since the drain began, or since this stream last filled it.
    unsigned floods_ = 0;   ///< Samples in which most packets were lost.
    unsigned outruns_ = 0;  ///< Samples in which this stream kept filling the queue.
    bool is_alone_ = false;
    bool has_new_path_ = false;
};

}  // namespace stage::core
