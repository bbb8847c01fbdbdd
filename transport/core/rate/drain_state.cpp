#include "transport/core/rate/drain_state.h"

#include <algorithm>
#include <chrono>

namespace stage::core {
namespace {

/// Times what the queue needs to drain; RTTs that reports take; and the time that late wake-ups
/// take. After these the queue should be gone.
constexpr double kDrainTimes = 2;
constexpr double kReportTrips = 10;
constexpr Duration kWakeUps = std::chrono::milliseconds{10};
/// If more than this times the arrival rate was sent, although below the capacity estimate, the
/// estimate is wrong; at most in this number of samples.
constexpr double kOutruns = 1.05;
constexpr unsigned kOutrunsMost = 8;
/// Sent over passed, with the noise of a sample: above the first the queue drains, below the
/// second it fills.
constexpr double kDrains = 1.02;
constexpr double kFills = 0.995;
/// Samples that cover packets which were under way when the rate fell.
constexpr unsigned kFirstSamples = 2;
/// Weight of a sample in the capacity estimate.
constexpr double kWeight = 0.5;
/// Shares of the queue at the beginning: one that grew above the first belongs to another flow,
/// and so does one that stays above the second.
constexpr double kGrown = 1.5;
constexpr double kStayed = 0.7;
/// Samples in which most packets were lost, before the estimate is believed all the same.
constexpr unsigned kFloodsMost = 2;
/// Share of the capacity with which cruise begins: no new queue comes at once.
constexpr double kCruiseShare = 0.985;

}  // namespace

void DrainState::begin(Instant now, const RateSample& sample, PathEstimate& path) {
    path.busy_passed = sample.passed;
    queue_ = sample.queue;
    samples_ = 0;
    floods_ = 0;
    outruns_ = 0;
    restart_clock(now, sample);
}

void DrainState::restart_clock(Instant now, const RateSample& sample) {
    drained_at_ = now +
                  duration_of(kDrainTimes * sample.queue / (1 - kDrainShare) +
                              kReportTrips * sample.round_trip) +
                  kWakeUps;
}

RateStep DrainState::next(Instant now, const RateSample& sample, PathEstimate& path) {
    const double unit = path.queue_unit(sample);
    if (++samples_ == 1) {
        queue_ = std::max(queue_, sample.queue);  // what was under way came, too
        restart_clock(now, sample);
    }
    const double agreed = path.agreed_capacity(sample, unit);
    if (sample.queue <= kSmallQueue * unit) {
        return on_short_queue(sample, path);
    }
    if (agreed > 0 && agreed < path.capacity) {
        path.capacity = agreed;
        path.capacity_before_cut = 0;
        return path.drain();
    }
    if (sample.sent > kOutruns * sample.passed && sample.queue > unit &&
        outruns_ < kOutrunsMost) {
        return on_outrun(now, sample, path);
    }
    return on_moving_queue(now, sample, path, unit);
}

/// The queue is gone, or only seems so: where most packets are lost none shows.
RateStep DrainState::on_short_queue(const RateSample& sample, PathEstimate& path) {
    if (!path.is_confirmed && sample.loss > path.loss.random_loss() + kFloodLoss &&
        floods_ < kFloodsMost) {
        ++floods_;
        path.capacity = std::min(path.capacity, path.without_random_loss(sample.delivered));
        return path.drain();
    }
    path.is_confirmed = true;
    return cruise(path);
}

/// More leaves than arrives: this stream fills the queue, by a capacity estimate that is too
/// large.
RateStep DrainState::on_outrun(Instant now, const RateSample& sample, PathEstimate& path) {
    ++outruns_;
    path.capacity = path.is_confirmed ? path.lowered_to(sample.passed)
                                      : std::min(path.capacity, sample.passed);
    queue_ = std::max(queue_, sample.queue);
    samples_ = 1;
    restart_clock(now, sample);
    return path.drain();
}

/// A queue that moves shows what the path takes. One that does not move is another flow's.
RateStep DrainState::on_moving_queue(Instant now,
                                     const RateSample& sample,
                                     PathEstimate& path,
                                     double unit) {
    const bool drains = sample.passed > kDrains * sample.sent;
    const bool fills = sample.passed < kFills * sample.sent;
    const bool is_first = samples_ <= kFirstSamples;
    if (drains || fills || is_first) {
        // What leaves no faster than it arrives is not what the path takes.
        const double change = kWeight * (sample.passed - path.capacity);
        path.capacity += fills || !path.is_confirmed ? change : std::max(change, 0.0);
    }
    const bool is_still = !drains && !fills && !is_first;
    if (is_still && is_alone_) {
        has_new_path_ = true;
        return cruise(path);
    }
    const bool grows = !is_first && sample.queue > kGrown * queue_ + unit;
    const bool stays = now > drained_at_ && sample.queue > kStayed * queue_;
    if (grows || stays || (is_still && sample.queue > unit)) {
        return {.rate = path.rate, .state = RateState::compete};
    }
    if (now > drained_at_) {
        queue_ = sample.queue;  // it goes, but slowly
        restart_clock(now, sample);
    }
    return path.drain();
}

RateStep DrainState::cruise(const PathEstimate& path) {
    is_alone_ = false;
    return {.rate = kCruiseShare * path.capacity, .state = RateState::cruise};
}

}  // namespace stage::core
