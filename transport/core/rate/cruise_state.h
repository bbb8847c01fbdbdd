// Keeps a small queue, so that the link is never idle and nothing is lost.
//
// Without a queue the rate grows, ever faster. Loss without a queue is tested (loss_probe.h).
// One sample may be wrong: before a large cut a second one must agree.
#pragma once

#include "transport/base/units.h"
#include "transport/core/rate/path_estimate.h"

#include <optional>

namespace stage::core {

class CruiseState {
  public:
    void begin() { quiet_samples_ = 0; }
    [[nodiscard]] RateStep next(Instant now, const RateSample& sample, PathEstimate& path);

  private:
    [[nodiscard]] std::optional<RateStep> tested(Instant now,
                                                 const RateSample& sample,
                                                 PathEstimate& path,
                                                 bool has_queue);
    [[nodiscard]] RateStep on_long_queue(const RateSample& sample,
                                         PathEstimate& path,
                                         double unit);
    [[nodiscard]] RateStep on_small_queue(const RateSample& sample,
                                          PathEstimate& path,
                                          double unit);
    [[nodiscard]] double rate_without_queue(const RateSample& sample, PathEstimate& path);
    [[nodiscard]] RateStep drain(const PathEstimate& path);

    double rate_before_test_ = 0;  ///< The rate to return to after a loss test.
    unsigned long_queues_ = 0;     ///< Samples in a row with a long queue.
    /// Samples in a row with a small queue that this stream does not fill and that stays.
    unsigned standing_queues_ = 0;
    unsigned quiet_samples_ = 0;  ///< Samples in a row without a queue in which the rate grew.
    /// Samples without a queue in a row in which the source could not keep the rate.
    unsigned slow_samples_ = 0;
};

}  // namespace stage::core
