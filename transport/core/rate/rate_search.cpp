#include "transport/core/rate/rate_search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace stage::core {
namespace {

/// A burst's own packets wait for each other; later it is known how long, seconds.
constexpr double kBurst = 250e-6;
/// Share of the capacity, while a queue drains.
constexpr double kDrain = 0.8;
/// If more than this times the arrival rate was sent, although below the capacity estimate, the
/// estimate is wrong; at most this often in a row.
constexpr double kOutruns = 1.05;
constexpr unsigned kOutrunMost = 8;
/// With more than this times the train's rate and no queue the train was delayed elsewhere.
constexpr double kOutgrown = 1.2;
/// A queue that grows while no more leaves than arrives is not ours, or none: a process was
/// late.
constexpr double kExplains = 1.02;
constexpr unsigned kUnexplainedMost = 4;
/// One sample may be wrong: before a large cut a second one must agree. Until then, of the
/// capacity:
constexpr unsigned kQueuedMost = 2;
constexpr double kDoubt = 0.95;
/// More leaves than arrives, beyond the noise of a sample.
constexpr double kFills = 1.01;
/// A queue that stays though no more leaves than arrives, so often in a row, may be another's.
constexpr unsigned kStuckMost = 6;
constexpr double kStuck = 0.9;  ///< Of the unit: where the rate lies well below the capacity.
/// Loss above the random loss belongs to a full queue, if there is one.
constexpr double kOverflow = 0.06;
/// With more loss than this and no queue, the lost packets met the queue; at most this often.
constexpr double kFlooded = 0.25;
constexpr unsigned kFloodedMost = 2;
/// Two samples of a busy path that differ by less agree; they say something where much less
/// than the rate passes.
constexpr double kAgrees = 1.15;
constexpr double kMuchLess = 0.9;
/// In compete, the bound relative to the arrival rate: a window's packets leave as others
/// arrive, and it grows slowly.
constexpr double kClocked = 1.25;
/// Late receivers lower the rate to no less than this part of it at once.
constexpr double kHostStep = 0.7;

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
    return 20e-6 + sample.lateness + sample.round_trip / 4 +
           8 * packet_bytes_ / std::max(rate_, capacity_);
}

double RateSearch::without_chance(double delivered) const {
    return delivered / (1 - std::min(loss_.chance(), 0.9));
}

double RateSearch::on_sample(Instant now, const RateSample& sample) {
    // A full queue passed none of the lost packets; random loss took packets that it had
    // passed.
    RateSample seen = sample;
    if (sample.queue > queue_unit(sample) && sample.loss > loss_.chance() + kOverflow) {
        seen.passed = std::min(sample.passed, without_chance(sample.delivered));
    }
    const double wanted = next(now, seen);
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
    // If less leaves than may, because nothing is read or the window is closed, a sample has
    // few packets, and random loss takes one of them.
    const bool keeps_rate = sample.sent + sample.beside >= 0.7 * rate_;
    const double loss_most = loss_.chance() + (keeps_rate ? kOverflow : kFlooded);
    const bool outruns = sample.sent > 1.12 * sample.delivered &&
                         (sample.loss > loss_most || sample.queue > unit / 2);
    capacity_ = std::max(capacity_, std::min(sample.sent, without_chance(sample.delivered)));
    if (outruns || sample.queue > unit) {
        before_cut_ = std::min(capacity_, 1.25 * sample.delivered);
        capacity_ = without_chance(sample.delivered);
        return begin_drain(now, sample);
    }
    if (sample.queue < 0.3 * unit && rate_ <= train_ && sample.packets >= 32) {
        loss_.learn(sample.loss);
    }
    if (rate_ >= most_ || !keeps_rate) {
        return rate_;
    }
    // More passed than the train showed, and did not wait: that was no path's, but a process'.
    const bool is_more = sample.passed > kOutgrown * train_ && sample.queue < 0.3 * unit &&
                         sample.packets * packet_bytes_ >= kBucketBytes;
    is_guess_ = is_guess_ || is_more;
    if (rate_ < 0.95 * expected_) {
        // Enough packets to exceed the token bucket of a shaper; otherwise the rate stays.
        return sample.packets * packet_bytes_ < kBucketBytes ? 0
                                                             : std::min(4 * rate_, expected_);
    }
    return rate_ * (is_guess_ ? 2 : 1.25);
}

double RateSearch::begin_drain(Instant now, const RateSample& sample) {
    state_ = State::drain;
    drain_queue_ = sample.queue;
    drain_samples_ = 0;
    flooded_ = 0;
    outrun_ = 0;
    passed_before_ = sample.passed;
    queued_ = 0;
    stuck_ = 0;
    drain_until_ = drain_time(now, sample);
    return kDrain * capacity_;
}

/// Twice as long as the queue needs to go, and what reports and wake-ups take.
Instant RateSearch::drain_time(Instant now, const RateSample& sample) {
    return now + duration_of(2 * sample.queue / (1 - kDrain) + 10 * sample.round_trip) +
           std::chrono::milliseconds{10};
}

/// Sends slower until the queue is gone. If it does not go, another flow fills it.
double RateSearch::drain(Instant now, const RateSample& sample) {
    const double unit = queue_unit(sample);
    if (++drain_samples_ == 1) {
        drain_queue_ = std::max(drain_queue_, sample.queue);  // what was under way came, too
        drain_until_ = drain_time(now, sample);
    }
    const double path = agreed(sample, unit);
    if (sample.queue <= 0.6 * unit) {
        return drained(sample);
    }
    if (path > 0 && path < capacity_) {
        capacity_ = path;
        before_cut_ = 0;
        return kDrain * capacity_;
    }
    if (sample.sent > kOutruns * sample.passed && sample.queue > unit &&
        outrun_ < kOutrunMost) {
        return outrun(now, sample);
    }
    const bool drains = sample.passed > 1.02 * sample.sent;
    const bool fills = sample.passed < 0.995 * sample.sent;
    if (drains || fills || drain_samples_ <= 2) {
        // The queue moves: that is the path; what leaves no faster than it arrives is not.
        const double change = 0.5 * (sample.passed - capacity_);
        capacity_ += fills || !is_settled_ ? change : std::max(change, 0.0);
    }
    const bool is_still = !drains && !fills && drain_samples_ >= 3;
    if (is_still && was_alone_) {
        // nothing drains and no other flow has a share: the path became longer
        has_new_path_ = true;
        return begin_cruise();
    }
    const bool grows = drain_samples_ >= 3 && sample.queue > 1.5 * drain_queue_ + unit;
    const bool stays = now > drain_until_ && sample.queue > 0.7 * drain_queue_;
    if (grows || stays || (is_still && sample.queue > unit)) {
        return begin_compete(now, sample);
    }
    if (now > drain_until_) {
        drain_queue_ = sample.queue;  // it goes, but slowly
        drain_until_ = drain_time(now, sample);
    }
    return kDrain * capacity_;
}

/// The queue is gone, or only seems so: where most packets are lost none shows.
double RateSearch::drained(const RateSample& sample) {
    if (!is_settled_ && sample.loss > loss_.chance() + kFlooded && flooded_ < kFloodedMost) {
        ++flooded_;
        capacity_ = std::min(capacity_, without_chance(sample.delivered));
        return kDrain * capacity_;
    }
    is_settled_ = true;
    return begin_cruise();
}

/// More leaves than arrives: this stream fills the queue, by a capacity estimate that is too
/// large.
double RateSearch::outrun(Instant now, const RateSample& sample) {
    ++outrun_;
    capacity_ = is_settled_ ? lowered(sample.passed) : std::min(capacity_, sample.passed);
    drain_queue_ = std::max(drain_queue_, sample.queue);
    drain_samples_ = 1;
    drain_until_ = drain_time(now, sample);
    return kDrain * capacity_;
}

double RateSearch::begin_cruise() {
    was_alone_ = false;
    state_ = State::cruise;
    quiet_epochs_ = 0;
    return 0.985 * capacity_;
}

double RateSearch::begin_compete(Instant now, const RateSample& sample) {
    state_ = State::compete;
    queue_seen_ = now;
    alone_ = 0;
    window_.begin(now, rate_ * (sample.round_trip + sample.queue) / packet_bytes_);
    return rate_;
}

/// A queue kept the path busy, so what passed is what it takes, or one sample was wrong. Two
/// in a row that agree are believed: gives what they say, 0 if they don't.
double RateSearch::agreed(const RateSample& sample, double unit) {
    if (sample.queue > unit) {
        before_cut_ = std::min(before_cut_, (before_cut_ + sample.passed) / 2);
    }
    if (sample.queue <= unit || sample.passed >= kMuchLess * rate_) {
        passed_before_ = 0;
        return 0;
    }
    const double before = std::exchange(passed_before_, sample.passed);
    const bool agrees = before < kAgrees * sample.passed && sample.passed < kAgrees * before;
    return agrees ? std::max(before, sample.passed) : 0;
}

/// One sample's arrivals may have waited for a process, not for the path.
double RateSearch::lowered(double capacity) const {
    return std::clamp(capacity, kDrain * capacity_, std::max(capacity_, kDrain * capacity_));
}

double RateSearch::cruise(Instant now, const RateSample& sample) {
    const double unit = queue_unit(sample);
    switch (loss_.on_sample(now, sample, sample.queue > 1.5 * unit)) {
        case LossProbe::Answer::slower:
            before_test_ = rate_;
            return rate_ * LossProbe::kSlower;
        case LossProbe::Answer::chance:
            return before_test_;
        case LossProbe::Answer::congestion:
            capacity_ = without_chance(sample.delivered) / LossProbe::kSlower;
            return 0.975 * before_test_;
        case LossProbe::Answer::overload:
            capacity_ = without_chance(sample.delivered);
            return begin_drain(now, sample);
        case LossProbe::Answer::none:
            break;
    }
    if (loss_.is_testing()) {
        return rate_;
    }
    if (sample.queue > 1.5 * unit) {
        const double path = agreed(sample, unit);
        const bool is_ours = sample.sent >= kExplains * sample.delivered;
        if (++queued_ < (is_ours ? kQueuedMost : kUnexplainedMost)) {
            return std::min(rate_, kDoubt * capacity_);
        }
        before_cut_ = path > 0 ? 0 : std::max(capacity_, before_cut_);
        capacity_ = path > 0 ? path : lowered(without_chance(sample.delivered));
        return begin_drain(now, sample);
    }
    queued_ = 0;
    if (sample.queue > 0.3 * unit) {
        quiet_epochs_ = 0;
        // Sending slower than the path carries says nothing about its capacity.
        const bool fills = sample.sent > kFills * sample.passed;
        const double change_of = 0.25 * (sample.passed - capacity_);
        capacity_ += fills ? change_of : std::max(change_of, 0.0);
        stuck_ = !fills && sample.queue > kStuck * unit ? stuck_ + 1 : 0;
        if (stuck_ >= kStuckMost) {
            return begin_drain(now, sample);
        }
        const double change =
            std::clamp(0.05 * (0.6 * unit - sample.queue) / unit, -0.08, 0.03);
        return capacity_ * (1 + change);
    }
    return quiet(sample);
}

/// No queue: a little faster, and faster still if none comes for long.
double RateSearch::quiet(const RateSample& sample) {
    if (sample.sent + sample.beside < 0.9 * rate_) {
        // The source can't keep this rate: its disk, its window or its process holds it back.
        // (What it sends to single members is in the rate, too.)
        const double most = std::max(1.05 * sample.sent, capacity_);
        return ++limited_ >= 4 ? std::min(rate_, most) : rate_;
    }
    limited_ = 0;
    stuck_ = 0;
    if (before_cut_ > 1.02 * rate_) {
        // It was lowered by samples that may have been wrong: half the way back at once.
        const double half = (rate_ + before_cut_) / 2;
        before_cut_ = half;
        return half;
    }
    before_cut_ = 0;
    // (A late burst passes a shaper's bucket at any rate.)
    capacity_ = std::max(capacity_, std::min({sample.sent, sample.passed, 1.02 * rate_}));
    // The limit of a remembered path was not measured lately: it may carry much more.
    const double growth = is_settled_ ? 0.01 * std::pow(1.6, ++quiet_epochs_ / 3)
                                      : 0.02 * std::pow(2, quiet_epochs_++);
    return rate_ * (1 + std::min(growth, 0.5));
}

/// Another flow keeps the queue full.
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
        was_alone_ = true;
        return begin_drain(now, sample);
    }
    if (sample.loss > loss_.chance() + 0.005) {
        window_.on_loss(now, trip);
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
    // A window in which the receivers' processes stood still, or waited for room, says nothing
    // about the next.
    return std::max(sample.drain * (1.08 - 0.32 * sample.fill), kHostStep * rate_);
}

}  // namespace stage::core
