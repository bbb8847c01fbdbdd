#include "transport/core/rate/cruise_state.h"

#include <algorithm>
#include <cmath>

namespace stage::core {
namespace {

/// Share of the rate before a test that found it too high for a small buffer.
constexpr double kAfterCongestion = 0.975;

// A long queue: samples in a row that are needed before a large cut. A queue that grows while
// no more than kExplains times the arrivals leaves is not this stream's, or none: a process was
// late.
constexpr double kExplains = 1.02;
constexpr unsigned kLongQueuesOwn = 2;
constexpr unsigned kLongQueuesOther = 4;
/// Share of the capacity until then.
constexpr double kDoubtShare = 0.95;

// A small queue.
/// Sent over passed: more leaves than arrives, beyond the noise of a sample.
constexpr double kFills = 1.01;
/// Weight of a sample in the capacity estimate.
constexpr double kWeight = 0.25;
/// A queue above this part of the unit, in this number of samples in a row, in which no more
/// leaves than arrives, is not noise. The rate lies well below the capacity.
constexpr double kStandingQueue = 0.9;
constexpr unsigned kStandingQueuesMost = 6;
/// Change of the rate for a queue that is one unit too short, and the bounds of a change: a
/// queue is removed faster than it is made.
constexpr double kGain = 0.05;
constexpr double kFallMost = -0.08;
constexpr double kRiseMost = 0.03;

// No queue.
/// Share of the rate. If less leaves, the source's disk, window or process holds it back.
constexpr double kKeepsRate = 0.9;
constexpr unsigned kSlowSamplesMost = 4;
/// Times what leaves: the rate follows a source that cannot keep it.
constexpr double kAboveSent = 1.05;
/// Times the rate: a former capacity below it is reached.
constexpr double kRestored = 1.02;
/// Times the rate: a late burst passes a shaper's bucket at any rate, so no more is believed.
constexpr double kBelievedMost = 1.02;
/// Growth per sample of a confirmed capacity; its factor, after each kGrowthSamples samples.
constexpr double kGrowth = 0.01;
constexpr double kGrowthFactor = 1.6;
constexpr unsigned kGrowthSamples = 3;
/// Growth of a remembered capacity, and its factor after each sample: the path may take much
/// more since.
constexpr double kGrowthRemembered = 0.02;
constexpr double kGrowthRememberedFactor = 2;
constexpr double kGrowthMost = 0.5;

}  // namespace

RateStep CruiseState::next(Instant now, const RateSample& sample, PathEstimate& path) {
    const double unit = path.queue_unit(sample);
    const bool has_long_queue = sample.queue > kLongQueue * unit;
    if (const auto step = tested(now, sample, path, has_long_queue)) {
        return *step;
    }
    if (has_long_queue) {
        return on_long_queue(sample, path, unit);
    }
    long_queues_ = 0;
    if (sample.queue > kNoQueue * unit) {
        quiet_samples_ = 0;
        return on_small_queue(sample, path, unit);
    }
    return {.rate = rate_without_queue(sample, path), .state = RateState::cruise};
}

/// What the test of the loss says, while there is one.
std::optional<RateStep> CruiseState::tested(Instant now,
                                            const RateSample& sample,
                                            PathEstimate& path,
                                            bool has_queue) {
    const auto cruise = [](double rate) {
        return RateStep{.rate = rate, .state = RateState::cruise};
    };
    switch (path.loss.on_sample(now, sample, has_queue)) {
        case LossProbe::Answer::slower:
            rate_before_test_ = path.rate;
            return cruise(path.rate * LossProbe::kSlower);
        case LossProbe::Answer::random:
            return cruise(rate_before_test_);
        case LossProbe::Answer::congestion:
            path.capacity = path.without_random_loss(sample.delivered) / LossProbe::kSlower;
            return cruise(kAfterCongestion * rate_before_test_);
        case LossProbe::Answer::overload:
            path.capacity = path.without_random_loss(sample.delivered);
            return drain(path);
        case LossProbe::Answer::none:
            break;
    }
    return path.loss.is_testing() ? std::optional{cruise(path.rate)} : std::nullopt;
}

RateStep CruiseState::on_long_queue(const RateSample& sample, PathEstimate& path, double unit) {
    const double agreed = path.agreed_capacity(sample, unit);
    const bool is_own = sample.sent >= kExplains * sample.delivered;
    if (++long_queues_ < (is_own ? kLongQueuesOwn : kLongQueuesOther)) {
        return {.rate = std::min(path.rate, kDoubtShare * path.capacity),
                .state = RateState::cruise};
    }
    path.capacity_before_cut =
        agreed > 0 ? 0 : std::max(path.capacity, path.capacity_before_cut);
    path.capacity =
        agreed > 0 ? agreed : path.lowered_to(path.without_random_loss(sample.delivered));
    return drain(path);
}

RateStep CruiseState::on_small_queue(const RateSample& sample,
                                     PathEstimate& path,
                                     double unit) {
    // Sending slower than the path carries says nothing about its capacity.
    const bool fills = sample.sent > kFills * sample.passed;
    const double change_of = kWeight * (sample.passed - path.capacity);
    path.capacity += fills ? change_of : std::max(change_of, 0.0);
    const bool stands = !fills && sample.queue > kStandingQueue * unit;
    standing_queues_ = stands ? standing_queues_ + 1 : 0;
    if (standing_queues_ >= kStandingQueuesMost) {
        return drain(path);
    }
    const double change =
        std::clamp(kGain * (kSmallQueue * unit - sample.queue) / unit, kFallMost, kRiseMost);
    return {.rate = path.capacity * (1 + change), .state = RateState::cruise};
}

/// A little faster, and faster still if no queue comes for long.
double CruiseState::rate_without_queue(const RateSample& sample, PathEstimate& path) {
    // (What the source sends to single members is in the rate, too.)
    if (sample.sent + sample.beside < kKeepsRate * path.rate) {
        const double most = std::max(kAboveSent * sample.sent, path.capacity);
        return ++slow_samples_ >= kSlowSamplesMost ? std::min(path.rate, most) : path.rate;
    }
    slow_samples_ = 0;
    standing_queues_ = 0;
    if (path.capacity_before_cut > kRestored * path.rate) {
        // It was lowered by samples that may have been wrong: half the way back at once.
        path.capacity_before_cut = (path.rate + path.capacity_before_cut) / 2;
        return path.capacity_before_cut;
    }
    path.capacity_before_cut = 0;
    path.capacity = std::max(path.capacity,
                             std::min({sample.sent, sample.passed, kBelievedMost * path.rate}));
    const unsigned before = quiet_samples_++;
    const double growth =
        path.is_confirmed ? kGrowth * std::pow(kGrowthFactor, quiet_samples_ / kGrowthSamples)
                          : kGrowthRemembered * std::pow(kGrowthRememberedFactor, before);
    return path.rate * (1 + std::min(growth, kGrowthMost));
}

RateStep CruiseState::drain(const PathEstimate& path) {
    long_queues_ = 0;
    standing_queues_ = 0;
    return path.drain();
}

}  // namespace stage::core
