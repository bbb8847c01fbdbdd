// Follows the receivers' processes where these, and not the path, are the bottleneck.
#pragma once

#include "transport/base/units.h"
#include "transport/core/rate/path_estimate.h"

#include <algorithm>
#include <chrono>
#include <optional>

namespace stage::core {

class SlowHosts {
  public:
    /// True if the receivers' sockets fill up, or did a moment ago.
    [[nodiscard]] bool are_behind(Instant now, const RateSample& sample) {
        if (sample.fill > kFillFrom || sample.overflowed >= kOverflowedFrom) {
            behind_until_ = now + kBehindTime;
        }
        if (behind_until_ && sample.fill < kFillUntil && now >= *behind_until_) {
            behind_until_.reset();
        }
        return behind_until_.has_value();
    }

    /// The rate at which the processes read packets, reduced as their sockets fill.
    [[nodiscard]] static double rate(const RateSample& sample, PathEstimate& path) {
        if (sample.drain <= 0) {
            return path.rate * kUnknownDrain;
        }
        path.capacity = sample.drain;
        // A window in which the receivers' processes stood still, or waited for room, says
        // nothing about the next.
        return std::max(sample.drain * (kEmptyFactor - kFillFactor * sample.fill),
                        kStepMost * path.rate);
    }

  private:
    /// Share of a socket's buffer: from the first on the median receiver is behind, and below
    /// the second it is not.
    static constexpr double kFillFrom = 0.25;
    static constexpr double kFillUntil = 0.05;
    /// Share of the receivers whose sockets dropped packets.
    static constexpr double kOverflowedFrom = 0.5;
    /// The least time that the processes count as behind: several reports of each.
    static constexpr Duration kBehindTime = std::chrono::milliseconds{300};
    /// Share of the rate while no receiver has measured how fast it reads.
    static constexpr double kUnknownDrain = 0.9;
    /// Times what the processes read: a little more with empty sockets, which then fill, and a
    /// quarter less with full ones.
    static constexpr double kEmptyFactor = 1.08;
    static constexpr double kFillFactor = 0.32;
    /// Share of the rate: it falls to no less at once.
    static constexpr double kStepMost = 0.7;

    std::optional<Instant> behind_until_;
};

}  // namespace stage::core
