#include "transport/core/rate/start_state.h"

#include <algorithm>

namespace stage::core {
namespace {

/// A burst's own packets wait for each other; later it is known how long. Seconds.
constexpr double kBurstTime = 250e-6;
/// Share of the rate. If less leaves, because nothing is read or the window is closed, a sample
/// has few packets, and random loss takes one of them.
constexpr double kKeepsRate = 0.7;
/// Times what arrives: that much more leaves only where the path is full.
constexpr double kOutruns = 1.12;
/// Times the arrival rate: the capacity is not restored above it after a wrong sample.
constexpr double kRestoredMost = 1.25;
/// Packets of a sample that measures random loss: one lost packet is 3 %.
constexpr double kLossPackets = 32;
/// With more than this times the first rate and no queue a process, and not the path, had
/// delayed the train.
constexpr double kOutgrown = 1.2;
/// Share of the expected rate that counts as reached.
constexpr double kReached = 0.95;
/// Factors of the rate: up to an expected rate; where the first rate was a guess; and where the
/// path showed it, so that a step's queue stays short.
constexpr double kStepExpected = 4;
constexpr double kStepGuess = 2;
constexpr double kStepMeasured = 1.25;

}  // namespace

RateStep StartState::next(const RateSample& sample, PathEstimate& path, double rate_max) {
    const double unit = path.queue_unit(sample) + kBurstTime;
    const bool keeps_rate = sample.sent + sample.beside >= kKeepsRate * path.rate;
    const double loss_most =
        path.loss.random_loss() + (keeps_rate ? kOverflowLoss : kFloodLoss);
    const bool outruns = sample.sent > kOutruns * sample.delivered &&
                         (sample.loss > loss_most || sample.queue > unit / 2);
    path.capacity = std::max(path.capacity,
                             std::min(sample.sent, path.without_random_loss(sample.delivered)));
    if (outruns || sample.queue > unit) {
        path.capacity_before_cut = std::min(path.capacity, kRestoredMost * sample.delivered);
        path.capacity = path.without_random_loss(sample.delivered);
        return path.drain();
    }
    const bool has_queue = sample.queue >= kNoQueue * unit;
    if (!has_queue && path.rate <= first_rate_ && sample.packets >= kLossPackets) {
        path.loss.learn(sample.loss);
    }
    if (path.rate >= rate_max || !keeps_rate) {
        return {.rate = path.rate, .state = RateState::start};
    }
    const bool is_long = sample.packets * path.packet_bytes >= kBucketBytes;
    if (sample.passed > kOutgrown * first_rate_ && !has_queue && is_long) {
        is_guess_ = true;
    }
    return {.rate = raised(path, is_long), .state = RateState::start};
}

/// Up to the expected rate a sample must exceed the token bucket of a shaper; before, the rate
/// stays.
double StartState::raised(const PathEstimate& path, bool is_long) const {
    if (path.rate < kReached * expected_rate_) {
        return is_long ? std::min(kStepExpected * path.rate, expected_rate_) : 0;
    }
    return path.rate * (is_guess_ ? kStepGuess : kStepMeasured);
}

}  // namespace stage::core
