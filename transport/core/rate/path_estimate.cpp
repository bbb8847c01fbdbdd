#include "transport/core/rate/path_estimate.h"

#include <algorithm>
#include <utility>

namespace stage::core {
namespace {

/// Noise of two kernels' time stamps, seconds.
constexpr double kStampNoise = 20e-6;
/// Parts of an RTT: cross traffic on the path delays packets by one.
constexpr double kTripParts = 4;
/// Packets that leave as one burst and wait for each other (PacerLimits::burst_packets).
constexpr double kBurstPackets = 8;
/// The most random loss that is believed: a rate is corrected by at most a factor of ten.
constexpr double kRandomLossMax = 0.9;
/// Two samples of a busy path agree if they differ by less than this factor.
constexpr double kAgrees = 1.15;
/// Share of the rate: only where less passes a sample says something about the capacity.
constexpr double kBelowRate = 0.9;
/// Seconds: a path with longer delays carries no broadcast.
constexpr double kSecondsMax = 100;

}  // namespace

Duration duration_of(double seconds) {
    return Duration{static_cast<Duration::rep>(std::min(seconds, kSecondsMax) * 1e9)};
}

double PathEstimate::queue_unit(const RateSample& sample) const {
    return kStampNoise + sample.lateness + sample.round_trip / kTripParts +
           kBurstPackets * packet_bytes / std::max(rate, capacity);
}

double PathEstimate::without_random_loss(double delivered) const {
    return delivered / (1 - std::min(loss.random_loss(), kRandomLossMax));
}

double PathEstimate::agreed_capacity(const RateSample& sample, double unit) {
    if (sample.queue > unit) {
        capacity_before_cut =
            std::min(capacity_before_cut, (capacity_before_cut + sample.passed) / 2);
    }
    if (sample.queue <= unit || sample.passed >= kBelowRate * rate) {
        busy_passed = 0;
        return 0;
    }
    const double before = std::exchange(busy_passed, sample.passed);
    const bool agrees = before < kAgrees * sample.passed && sample.passed < kAgrees * before;
    return agrees ? std::max(before, sample.passed) : 0;
}

double PathEstimate::lowered_to(double passed) const {
    const double least = kDrainShare * capacity;
    return std::clamp(passed, least, std::max(capacity, least));
}

}  // namespace stage::core
