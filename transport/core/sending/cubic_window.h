// The congestion window of a stream that competes with TCP (CUBIC, RFC 9438).
//
// Where another flow fills the queue, delay says nothing, and a stream that yields gets
// nothing. Then this stream behaves as a TCP flow with CUBIC would that has a window of rate x
// (RTT + queue): the window grows with time, and shrinks when most receivers lose packets.
#pragma once

#include "transport/base/units.h"

#include <algorithm>
#include <cmath>

namespace stage::core {

class CubicWindow {
  public:
    /// Begins with `packets` in flight.
    void begin(Instant now, double packets) {
        window_ = std::max(packets, kLeast);
        most_ = window_;
        reno_ = window_;
        began_at_ = now;
        grown_at_ = now;
    }

    /// Most receivers lost packets. Further losses within `trip`, seconds, count as the same
    /// loss.
    void on_loss(Instant now, double trip) {
        if (now < forgiven_until_) {
            return grow(now, trip);
        }
        forgiven_until_ = now + Duration{static_cast<Duration::rep>(trip * 1e9)};
        most_ = window_ < most_ ? window_ * (1 + kBeta) / 2 : window_;
        window_ = std::max(window_ * kBeta, kLeast);
        reno_ = window_;
        began_at_ = now;
        grown_at_ = now;
    }

    /// The window was not used since the last call: the time does not count.
    void rest(Instant now) {
        began_at_ += now - grown_at_;
        grown_at_ = now;
    }

    /// Time has passed without loss. `trip`: the RTT with the queue, seconds.
    void grow(Instant now, double trip) {
        const double passed = static_cast<double>((now - grown_at_).count()) / 1e9;
        const double since = static_cast<double>((now - began_at_).count()) / 1e9 + trip;
        grown_at_ = now;
        reno_ += kReno * passed / std::max(trip, 1e-6);
        const double k = std::cbrt(std::max(most_ - most_ * kBeta, 0.0) / kC);
        const double cubic = kC * (since - k) * (since - k) * (since - k) + most_;
        const double wanted = std::max(cubic, reno_);
        // At most by a half in an RTT, which is CUBIC's own bound.
        const double bound = window_ * (1 + passed / std::max(trip, 1e-6) / 2);
        window_ = std::max(window_, std::min(wanted, bound));
    }

    [[nodiscard]] double packets() const { return window_; }

  private:
    static constexpr double kBeta = 0.7;
    static constexpr double kC = 0.4;
    static constexpr double kReno = 3 * (1 - kBeta) / (1 + kBeta);
    static constexpr double kLeast = 2;

    double window_ = kLeast;
    double most_ = kLeast;
    double reno_ = kLeast;
    Instant began_at_{};
    Instant grown_at_{};
    Instant forgiven_until_{};
};

}  // namespace stage::core
