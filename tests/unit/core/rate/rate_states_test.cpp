// Tests each state of the rate search by itself.
#include "tests/unit/core/parts.h"
#include "transport/core/rate/compete_state.h"
#include "transport/core/rate/cruise_state.h"
#include "transport/core/rate/drain_state.h"
#include "transport/core/rate/slow_hosts.h"
#include "transport/core/rate/start_state.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

constexpr double kRate = 10e6;  // Bytes per second.
constexpr double kUnbounded = 1e12;

PathEstimate path_at(double rate) {
    PathEstimate path;
    path.packet_bytes = 1000;
    path.rate = rate;
    path.capacity = rate;
    return path;
}

/// A sample of 200 packets that arrive as they left.
RateSample sample_of(double rate, double queue = 0) {
    RateSample sample;
    sample.packets = 200;
    sample.sent = rate;
    sample.passed = rate;
    sample.delivered = rate;
    sample.queue = queue;
    sample.round_trip = 0.001;
    return sample;
}

RateSample slower(RateSample sample, double passed) {
    sample.passed = passed;
    sample.delivered = passed;
    return sample;
}

}  // namespace

TEST_CASE("the start doubles a guess, and raises a measured rate by a quarter") {
    PathEstimate path = path_at(kRate);
    StartState guess;
    guess.begin(kRate, true);
    CHECK(guess.next(sample_of(kRate), path, kUnbounded).rate == Approx(2 * kRate));
    StartState measured;
    measured.begin(kRate, false);
    CHECK(measured.next(sample_of(kRate), path, kUnbounded).rate == Approx(1.25 * kRate));
    CHECK(measured.next(sample_of(kRate), path, kRate).rate == Approx(kRate));
}

TEST_CASE("up to an expected rate the start takes large steps, by long samples only") {
    PathEstimate path = path_at(kRate);
    StartState start;
    start.begin(kRate, true);
    start.expect(3 * kRate);
    RateSample sample = sample_of(kRate);
    CHECK(start.next(sample, path, kUnbounded).rate == Approx(3 * kRate));
    sample.packets = 20;
    CHECK(start.next(sample, path, kUnbounded).rate == 0);
}

TEST_CASE("a queue ends the start at what arrives") {
    PathEstimate path = path_at(2 * kRate);
    StartState start;
    start.begin(kRate, true);
    const RateStep step =
        start.next(slower(sample_of(2 * kRate, 0.01), kRate), path, kUnbounded);
    CHECK(step.state == RateState::drain);
    CHECK(path.capacity == Approx(kRate));
    CHECK(step.rate == Approx(kDrainShare * kRate));
}

TEST_CASE("a drain ends when the queue is gone, and confirms the capacity") {
    PathEstimate path = path_at(kRate);
    DrainState drain;
    drain.begin(kStart, sample_of(kRate, 0.01), path);
    RateStep step = drain.next(
        kStart + milliseconds{5}, slower(sample_of(0.8 * kRate, 0.005), kRate), path);
    CHECK(step.state == RateState::drain);
    CHECK_FALSE(path.is_confirmed);
    step = drain.next(kStart + milliseconds{10}, sample_of(0.8 * kRate), path);
    CHECK(step.state == RateState::cruise);
    CHECK(path.is_confirmed);
    CHECK(step.rate == Approx(0.985 * path.capacity));
}

TEST_CASE("a queue that does not drain is another flow's, or none if there is no other") {
    const bool is_alone = GENERATE(false, true);
    PathEstimate path = path_at(kRate);
    DrainState drain;
    if (is_alone) {
        drain.set_alone();
    }
    drain.begin(kStart, sample_of(kRate, 0.01), path);
    RateStep step{.state = RateState::drain};
    int samples = 0;
    while (step.state == RateState::drain && samples < 10) {
        ++samples;
        step =
            drain.next(kStart + milliseconds{5} * samples, sample_of(0.95 * kRate, 0.01), path);
    }
    CHECK(samples == 3);
    CHECK(step.state == (is_alone ? RateState::cruise : RateState::compete));
    CHECK(drain.take_new_path() == is_alone);
    CHECK_FALSE(drain.take_new_path());
}

TEST_CASE("cruise grows without a queue, and faster and faster") {
    PathEstimate path = path_at(kRate);
    path.is_confirmed = true;
    CruiseState cruise;
    double growth = 0;
    for (int i = 0; i < 3; ++i) {
        growth = cruise.next(kStart, sample_of(kRate), path).rate / kRate;
    }
    CHECK(growth == Approx(1.016));
    cruise.begin();
    CHECK(cruise.next(kStart, sample_of(kRate), path).rate == Approx(1.01 * kRate));
}

TEST_CASE("one sample with a long queue lowers the rate a little, the second makes it drain") {
    PathEstimate path = path_at(kRate);
    CruiseState cruise;
    const RateSample sample = slower(sample_of(kRate, 0.01), 0.7 * kRate);
    const RateStep step = cruise.next(kStart, sample, path);
    CHECK(step.state == RateState::cruise);
    CHECK(step.rate == Approx(0.95 * kRate));
    CHECK(cruise.next(kStart, sample, path).state == RateState::drain);
    CHECK(path.capacity == Approx(0.7 * kRate));  // both samples agree
}

TEST_CASE("cruise follows a source that cannot keep the rate, from the fourth sample on") {
    PathEstimate path = path_at(kRate);
    path.capacity = kRate / 4;
    CruiseState cruise;
    for (int i = 0; i < 3; ++i) {
        CHECK(cruise.next(kStart, sample_of(kRate / 2), path).rate == Approx(kRate));
    }
    CHECK(cruise.next(kStart, sample_of(kRate / 2), path).rate == Approx(1.05 * kRate / 2));
}

TEST_CASE("compete ends when the queue is gone, or when this stream has all of the path") {
    PathEstimate path = path_at(kRate);
    CompeteState compete;
    compete.begin(kStart, sample_of(kRate, 0.01), path);
    const RateSample half = slower(sample_of(kRate, 0.01), kRate / 2);
    CHECK(compete.next(kStart + milliseconds{10}, half, path).state == RateState::compete);
    CHECK(compete.next(kStart + milliseconds{61}, sample_of(kRate), path).state ==
          RateState::cruise);
    compete.begin(kStart, sample_of(kRate, 0.01), path);
    for (int i = 0; i < 7; ++i) {
        CHECK(compete.next(kStart, sample_of(kRate, 0.01), path).state == RateState::compete);
    }
    CHECK(compete.next(kStart, sample_of(kRate, 0.01), path).state == RateState::drain);
}

TEST_CASE("where the receivers' processes are behind the rate is what they read") {
    PathEstimate path = path_at(kRate);
    SlowHosts hosts;
    RateSample sample = sample_of(kRate);
    CHECK_FALSE(hosts.are_behind(kStart, sample));
    sample.fill = 0.5;
    sample.drain = 0.9 * kRate;
    CHECK(hosts.are_behind(kStart, sample));
    CHECK(SlowHosts::rate(sample, path) == Approx(0.92 * 0.9 * kRate));
    sample.drain = kRate / 10;
    CHECK(SlowHosts::rate(sample, path) == Approx(0.7 * kRate));
    CHECK(path.capacity == Approx(kRate / 10));
    sample.fill = 0;
    CHECK(hosts.are_behind(kStart + milliseconds{299}, sample));
    CHECK_FALSE(hosts.are_behind(kStart + milliseconds{300}, sample));
}
