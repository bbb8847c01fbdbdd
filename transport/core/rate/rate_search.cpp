#include "transport/core/rate/rate_search.h"

#include <algorithm>

namespace stage::core {

void RateSearch::begin(Instant, double rate, From from) {
    const bool is_remembered = from == From::memory;
    path_.rate = std::clamp(rate, rate_min_, rate_max_);
    path_.capacity = is_remembered ? path_.rate : 0;
    state_ = is_remembered ? State::cruise : State::start;
    start_.begin(path_.rate, from == From::guess);
}

double RateSearch::on_sample(Instant now, const RateSample& sample) {
    // A full queue passed none of the lost packets; random loss took packets that it had
    // passed.
    RateSample seen = sample;
    if (sample.queue > path_.queue_unit(sample) &&
        sample.loss > path_.loss.random_loss() + kOverflowLoss) {
        seen.passed = std::min(sample.passed, path_.without_random_loss(sample.delivered));
    }
    const RateStep step = next(now, seen);
    if (step.state != state_) {
        enter(step.state, now, seen);
    }
    is_waiting_ = step.rate <= 0;
    if (!is_waiting_) {
        path_.rate = std::clamp(step.rate, rate_min_, rate_max_);
    }
    return path_.rate;
}

RateStep RateSearch::next(Instant now, const RateSample& sample) {
    if (hosts_.are_behind(now, sample)) {
        cruise_.begin();
        return {.rate = SlowHosts::rate(sample, path_), .state = State::cruise};
    }
    switch (state_) {
        case State::start:
            return start_.next(sample, path_, rate_max_);
        case State::drain:
            return drain_.next(now, sample, path_);
        case State::cruise:
            return cruise_.next(now, sample, path_);
        case State::compete:
            return compete_.next(now, sample, path_);
    }
    return {.rate = path_.rate, .state = state_};
}

void RateSearch::enter(State state, Instant now, const RateSample& sample) {
    if (state == State::drain && state_ == State::compete) {
        drain_.set_alone();
    }
    state_ = state;
    if (state == State::drain) {
        drain_.begin(now, sample, path_);
    } else if (state == State::cruise) {
        cruise_.begin();
    } else if (state == State::compete) {
        compete_.begin(now, sample, path_);
    }
}

}  // namespace stage::core
