// Shares a path on which another flow keeps the queue full, as TCP does (cubic_window.h).
//
// There the delay says nothing, and a stream that yields gets nothing.
#pragma once

#include "transport/base/units.h"
#include "transport/core/rate/path_estimate.h"
#include "transport/core/sending/cubic_window.h"

#include <algorithm>
#include <chrono>

namespace stage::core {

class CompeteState {
  public:
    void begin(Instant now, const RateSample& sample, const PathEstimate& path) {
        queue_at_ = now;
        alone_samples_ = 0;
        window_.begin(now, path.rate * (sample.round_trip + sample.queue) / path.packet_bytes);
    }

    /// Leaves for cruise if the queue is gone, and for drain if no other flow has a share.
    [[nodiscard]] RateStep next(Instant now, const RateSample& sample, PathEstimate& path) {
        if (sample.queue > kNoQueue * path.queue_unit(sample)) {
            queue_at_ = now;
        }
        const Duration gone =
            std::max<Duration>(kGoneTime, duration_of(kGoneTrips * sample.round_trip));
        if (now > queue_at_ + gone) {
            return {.rate = path.rate, .state = RateState::cruise};
        }
        alone_samples_ = sample.passed > kAloneShare * path.capacity ? alone_samples_ + 1 : 0;
        if (alone_samples_ >= kAloneSamples) {
            path.capacity = sample.passed;  // the whole path is this stream's, and the queue
            return path.drain();
        }
        const double trip = sample.round_trip + sample.queue;
        if (sample.loss > path.loss.random_loss() + kLossMargin) {
            window_.on_loss(now, trip);
        } else {
            window_.grow(now, trip);
        }
        const double rate = window_.packets() * path.packet_bytes / trip;
        return {.rate = std::min(rate, kClocked * sample.passed), .state = RateState::compete};
    }

  private:
    /// The queue is gone when none showed for this time and this number of RTTs: a flow such
    /// as CUBIC's leaves it empty for a while after a loss.
    static constexpr Duration kGoneTime = std::chrono::milliseconds{50};
    static constexpr double kGoneTrips = 50;
    /// Share of the capacity, and samples in a row in which it passes: no other flow has a
    /// share.
    static constexpr double kAloneShare = 0.9;
    static constexpr unsigned kAloneSamples = 8;
    /// Loss above the random loss that counts as congestion: half of a percent is noise.
    static constexpr double kLossMargin = 0.005;
    /// Times the arrival rate: a window's packets leave as others arrive, and it grows slowly.
    static constexpr double kClocked = 1.25;

    Instant queue_at_{};  ///< When a queue was last seen.
    unsigned alone_samples_ = 0;
    CubicWindow window_;
};

}  // namespace stage::core
