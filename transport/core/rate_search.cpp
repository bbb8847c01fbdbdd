#include "transport/core/rate_search.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace stage::core {
namespace {

/// A burst's own packets wait for each other; later it is known how long, seconds.
constexpr double kBurst = 250e-6;
/// With the train, more than a shaper lets through at once.
constexpr double kBucketPackets = 96;
/// Of the capacity, while a queue drains.
constexpr double kDrain = 0.8;
/// Sent so many times as fast as it arrives, though slower than the capacity believed: the
/// belief is wrong, so often in a row at most.
constexpr double kOutruns = 1.05;
constexpr unsigned kOutrunMost = 8;
/// A queue that grows while no more leaves than arrives is not ours, or none: a process was
/// late.
constexpr double kExplains = 1.02;
constexpr unsigned kUnexplainedMost = 4;
/// While competing, of the rate at which packets arrive: a window's packets leave as others
/// arrive, and grow slowly.
constexpr double kClocked = 1.25;

Duration duration_of(double seconds) {
    return Duration{static_cast<Duration::rep>(std::min(seconds, 100.0) * 1e9)};
}

}  // namespace

void RateSearch::begin(Instant, double rate, From from) {
    const bool is_remembered = from == From::memory;
    is_guess_ = from == From::guess;
    rate_ = std::clamp(rate, static_cast<double>(limits_.least_bytes_per_s), most_);
    train_ = rate_;
    state_ = is_remembered ? State::cruise : State::start;
    capacity_ = is_remembered ? rate_ : 0;
}

double RateSearch::queue_unit(const RateSample& sample) const {
    return 20e-6 + sample.lateness + sample.round_trip / 4 + 8 * packet_bytes_ / rate_;
}

double RateSearch::without_chance(double delivered) const {
    return delivered / (1 - std::min(loss_.chance(), 0.9));
}

double RateSearch::on_sample(Instant now, const RateSample& sample) {
    const double wanted = next(now, sample);
    is_waiting_ = wanted <= 0;
    if (is_waiting_) {
        return rate_;
    }
    rate_ = std::clamp(wanted, static_cast<double>(limits_.least_bytes_per_s), most_);
    return rate_;
}

double RateSearch::next(Instant now, const RateSample& sample) {
    if (sample.fill > 0.25 || sample.overflowed >= 0.5) {
        host_until_ = now + std::chrono::milliseconds{300};
    }
    if (host_until_ && (sample.fill >= 0.05 || now < *host_until_)) {
        return host(now, sample);
    }
    host_until_.reset();
    switch (state_) {
        case State::start:
            return start(now, sample);
        case State::drain:
            return drain(now, sample);
        case State::cruise:
            return cruise(now, sample);
        case State::compete:
            return compete(now, sample);
    }
    return rate_;
}

/// Faster until a queue shows, or more arrives late than was sent.
double RateSearch::start(Instant now, const RateSample& sample) {
    const double unit = queue_unit(sample) + kBurst;
    const bool outruns = sample.sent > 1.12 * sample.delivered &&
                         (sample.loss > loss_.chance() + 0.06 || sample.queue > unit / 2);
    capacity_ = std::max(capacity_, std::min(sample.sent, without_chance(sample.delivered)));
    if (outruns || sample.queue > unit) {
        capacity_ = without_chance(sample.delivered);
        return begin_drain(now, sample);
    }
    if (sample.queue < 0.3 * unit && rate_ <= train_ && sample.packets >= 32) {
        loss_.learn(sample.loss);
    }
    if (rate_ >= most_ || sample.sent < 0.7 * rate_) {
        return rate_;
    }
    if (rate_ < 0.95 * expected_) {
        // So many that no shaper's bucket took them all, or it goes on as it is.
        return sample.packets < kBucketPackets ? 0 : std::min(4 * rate_, expected_);
    }
    return rate_ * (is_guess_ ? 2 : 1.25);
}

double RateSearch::begin_drain(Instant now, const RateSample& sample) {
    state_ = State::drain;
    drain_queue_ = sample.queue;
    drain_samples_ = 0;
    outrun_ = 0;
    unexplained_ = 0;
    drain_until_ = drain_time(now, sample);
    return kDrain * capacity_;
}

/// Twice as long as the queue needs to go, and what reports and wake-ups take.
Instant RateSearch::drain_time(Instant now, const RateSample& sample) {
    return now + duration_of(2 * sample.queue / (1 - kDrain) + 10 * sample.round_trip) +
           std::chrono::milliseconds{10};
}

/// Slower until the queue is gone. If it doesn't go, somebody else fills it.
double RateSearch::drain(Instant now, const RateSample& sample) {
    const double unit = queue_unit(sample);
    if (++drain_samples_ == 1) {
        drain_queue_ = std::max(drain_queue_, sample.queue);  // what was under way came, too
        drain_until_ = drain_time(now, sample);
    }
    if (sample.queue <= 0.6 * unit) {
        is_settled_ = true;
        state_ = State::cruise;
        quiet_epochs_ = 0;
        return 0.985 * capacity_;
    }
    if (sample.sent > kOutruns * sample.passed && sample.queue > unit &&
        outrun_ < kOutrunMost) {
        // More leaves than arrives: it is we who fill it, by a capacity believed too large.
        ++outrun_;
        capacity_ = is_settled_ ? lowered(sample.passed) : std::min(capacity_, sample.passed);
        drain_queue_ = std::max(drain_queue_, sample.queue);
        drain_samples_ = 1;
        drain_until_ = drain_time(now, sample);
        return kDrain * capacity_;
    }
    const bool drains = sample.passed > 1.02 * sample.sent;
    const bool fills = sample.passed < 0.995 * sample.sent;
    if (drains || fills || drain_samples_ <= 2) {
        // The queue moves: that is the path; what leaves no faster than it arrives is not.
        const double change = 0.5 * (sample.passed - capacity_);
        capacity_ += fills || !is_settled_ ? change : std::max(change, 0.0);
    } else if (drain_samples_ >= 3 && sample.queue < 3 * unit) {
        state_ = State::cruise;  // nothing drains, so nothing is there: the path has changed
        quiet_epochs_ = 0;
        return 0.985 * capacity_;
    }
    const bool grows = drain_samples_ >= 3 && sample.queue > 1.5 * drain_queue_ + unit;
    const bool stays = now > drain_until_ && sample.queue > 0.7 * drain_queue_;
    if (grows || stays) {
        state_ = State::compete;
        queue_seen_ = now;
        alone_ = 0;
        window_.begin(now, rate_ * (sample.round_trip + sample.queue) / packet_bytes_);
        return rate_;
    }
    if (now > drain_until_) {
        drain_queue_ = sample.queue;  // it goes, but slowly
        drain_until_ = drain_time(now, sample);
    }
    return kDrain * capacity_;
}

/// One sample's arrivals may have waited for a process, not for the path.
double RateSearch::lowered(double capacity) const {
    return std::clamp(capacity, kDrain * capacity_, std::max(capacity_, kDrain * capacity_));
}

double RateSearch::cruise(Instant now, const RateSample& sample) {
    const double unit = queue_unit(sample);
    switch (loss_.on_sample(now, sample, sample.queue > 1.5 * unit)) {
        case LossTest::Answer::slower:
            before_test_ = rate_;
            return rate_ * LossTest::kSlower;
        case LossTest::Answer::chance:
            return before_test_;
        case LossTest::Answer::congestion:
            capacity_ = without_chance(sample.delivered) / LossTest::kSlower;
            return 0.975 * before_test_;
        case LossTest::Answer::none:
            break;
    }
    if (loss_.is_testing()) {
        return rate_;
    }
    if (sample.queue > 1.5 * unit) {
        if (sample.sent < kExplains * sample.delivered && ++unexplained_ < kUnexplainedMost) {
            return std::min(rate_, 0.95 * capacity_);
        }
        capacity_ = lowered(without_chance(sample.delivered));
        return begin_drain(now, sample);
    }
    unexplained_ = 0;
    if (sample.queue > 0.3 * unit) {
        quiet_epochs_ = 0;
        capacity_ += 0.25 * (sample.passed - capacity_);
        const double change =
            std::clamp(0.05 * (0.6 * unit - sample.queue) / unit, -0.08, 0.03);
        return capacity_ * (1 + change);
    }
    return quiet(sample);
}

/// No queue: a little faster, and faster still if none comes for long.
double RateSearch::quiet(const RateSample& sample) {
    if (sample.sent < 0.9 * rate_) {
        // The source can't keep this rate: its disk, its window or its process holds it back.
        const double most = std::max(1.05 * sample.sent, capacity_);
        return ++limited_ >= 4 ? std::min(rate_, most) : rate_;
    }
    limited_ = 0;
    capacity_ = std::max(capacity_, std::min(sample.sent, sample.passed));
    const double growth = 0.01 * std::pow(1.6, ++quiet_epochs_ / 3);
    return rate_ * (1 + std::min(growth, 0.5));
}

/// Somebody else keeps the queue full.
double RateSearch::compete(Instant now, const RateSample& sample) {
    const double unit = queue_unit(sample);
    const double trip = sample.round_trip + sample.queue;
    if (sample.queue > 0.3 * unit) {
        queue_seen_ = now;
    }
    const Duration gone =
        std::max<Duration>(std::chrono::milliseconds{50}, duration_of(50 * sample.round_trip));
    if (now > *queue_seen_ + gone) {
        state_ = State::cruise;
        quiet_epochs_ = 0;
        return rate_;
    }
    alone_ = sample.passed > 0.9 * capacity_ ? alone_ + 1 : 0;
    if (alone_ >= 8) {
        capacity_ = sample.passed;  // the whole path is ours, and so is the queue
        return begin_drain(now, sample);
    }
    if (sample.loss > loss_.chance() + 0.005) {
        window_.on_loss(now);
    } else {
        window_.grow(now, trip);
    }
    return std::min(window_.packets() * packet_bytes_ / trip, kClocked * sample.passed);
}

/// The receivers' processes are behind: as fast as they take it, less what has gathered.
double RateSearch::host(Instant, const RateSample& sample) {
    state_ = State::cruise;
    quiet_epochs_ = 0;
    if (sample.drain <= 0) {
        return rate_ * 0.9;
    }
    capacity_ = sample.drain;
    return sample.drain * (1.08 - 0.32 * sample.fill);
}

}  // namespace stage::core
