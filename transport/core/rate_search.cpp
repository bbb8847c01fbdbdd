#include "transport/core/rate_search.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace stage::core {
namespace {

Duration duration_of(double seconds) {
    return Duration{static_cast<Duration::rep>(std::min(seconds, 100.0) * 1e9)};
}

}  // namespace

void RateSearch::begin(Instant, double rate, bool is_remembered) {
    rate_ = std::clamp(rate, static_cast<double>(limits_.least_bytes_per_s), most_);
    train_ = rate_;
    state_ = is_remembered ? State::cruise : State::start;
    capacity_ = is_remembered ? rate_ : 0;
}

double RateSearch::queue_unit(const RateSample& sample) const {
    return 20e-6 + sample.round_trip / 4 + 8 * packet_bytes_ / rate_;
}

double RateSearch::without_chance(double delivered) const {
    return delivered / (1 - std::min(loss_.chance(), 0.9));
}

double RateSearch::on_sample(Instant now, const RateSample& sample) {
    const double wanted = next(now, sample);
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
    const double unit = queue_unit(sample);
    const bool outruns = sample.sent > 1.12 * sample.delivered &&
                         (sample.loss > loss_.chance() + 0.06 || sample.queue > unit / 2);
    capacity_ = std::max(capacity_, std::min(sample.sent, without_chance(sample.delivered)));
    if (outruns || sample.queue > unit) {
        capacity_ = std::max(without_chance(sample.delivered), train_ / 2);
        return begin_drain(now, sample);
    }
    if (sample.queue < 0.3 * unit && rate_ <= train_ && sample.packets >= 32) {
        loss_.learn(sample.loss);
    }
    if (rate_ >= most_ || sample.sent < 0.7 * rate_) {
        return rate_;
    }
    const bool was_short = train_ * 120e-6 > 96e3;  // the train took too short to be precise
    return rate_ * (was_short ? 2 : 1.25);
}

double RateSearch::begin_drain(Instant now, const RateSample& sample) {
    state_ = State::drain;
    drain_queue_ = sample.queue;
    drain_samples_ = 0;
    const double rate = 0.9 * capacity_;
    drain_until_ = now + duration_of(2 * sample.queue / 0.1 + 10 * sample.round_trip) +
                   std::chrono::milliseconds{10};
    return rate;
}

/// Slower until the queue is gone. If it doesn't go, somebody else fills it.
double RateSearch::drain(Instant now, const RateSample& sample) {
    const double unit = queue_unit(sample);
    ++drain_samples_;
    if (sample.delivered < 0.96 * sample.sent * (1 - loss_.chance()) &&
        sample.queue > 0.3 * unit) {
        capacity_ = std::min(capacity_, without_chance(sample.delivered));
    }
    if (sample.queue <= 0.6 * unit) {
        state_ = State::cruise;
        quiet_epochs_ = 0;
        return 0.985 * capacity_;
    }
    const bool grows = drain_samples_ >= 3 && sample.queue > 1.5 * drain_queue_ + unit;
    const bool stays = now > drain_until_ && sample.queue > 0.7 * drain_queue_;
    if (grows || stays) {
        state_ = State::compete;
        queue_seen_ = now;
        window_.begin(now, rate_ * (sample.round_trip + sample.queue) / packet_bytes_);
        return rate_;
    }
    if (now > drain_until_) {
        drain_queue_ = sample.queue;  // it goes, but slowly
        drain_until_ = now + duration_of(2 * sample.queue / 0.1 + 10 * sample.round_trip);
    }
    return 0.9 * capacity_;
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
        capacity_ = without_chance(sample.delivered);
        return begin_drain(now, sample);
    }
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
        return ++limited_ >= 4 ? std::min(rate_, 1.05 * sample.sent) : rate_;
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
    if (sample.loss > loss_.chance() + 0.005) {
        window_.on_loss(now);
    } else {
        window_.grow(now, trip);
    }
    return window_.packets() * packet_bytes_ / trip;
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
