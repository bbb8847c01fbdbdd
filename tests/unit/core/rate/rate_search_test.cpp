// Tests that the rate is found, kept, lowered and shared.
#include "transport/core/rate/rate_search.h"

#include "tests/unit/core/parts.h"
#include "transport/core/rate/loss_probe.h"
#include "transport/core/sending/cubic_window.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

constexpr double kLink = 12.5e6;  ///< Bytes per second.
constexpr double kEpoch = 0.005;  ///< Seconds that a sample takes.

/// A link with a queue, seen as the source sees it.
struct Path {
    double queue = 0;  ///< Bytes,
    double buffer = 256e3;
    double chance = 0;  ///< Share lost before the queue.
    double link = kLink;
    Instant now = kStart;

    RateSample carry(double rate) {
        now += milliseconds{5};
        RateSample sample;
        sample.packets = 150;
        sample.round_trip = 0.0005;
        sample.sent = rate;
        const double came = rate * (1 - chance) * kEpoch;
        const double room = buffer - queue + link * kEpoch;
        const double taken = std::min(came, room);
        sample.loss = 1 - taken / (rate * kEpoch);
        queue += taken;
        const double passed = std::min(queue, link * kEpoch);
        queue -= passed;
        sample.delivered = passed / kEpoch;
        sample.passed = sample.delivered / (1 - sample.loss);
        sample.queue = queue / link;
        return sample;
    }
};

RateSearch search_from(double rate, double most = 1e12) {
    RateSearch search{{}, 1514, most};
    search.begin(kStart, rate, RateSearch::From::train);
    return search;
}

/// Mean rate of the last half of the samples.
double settle(RateSearch& search, Path& path, int samples = 400) {
    double sum = 0;
    for (int i = 0; i < samples; ++i) {
        const double rate = search.on_sample(path.now, path.carry(search.rate()));
        sum += i >= samples / 2 ? rate : 0;
    }
    return sum / (samples / 2);
}

}  // namespace

TEST_CASE("the rate of a link is found from below and from above, and nothing is lost then") {
    for (const double from : {0.1 * kLink, kLink, 3 * kLink}) {
        CAPTURE(from);
        Path path;
        RateSearch search = search_from(from);
        CHECK(settle(search, path) == Approx(kLink).epsilon(0.01));
        CHECK(search.state() == RateSearch::State::cruise);
        CHECK(search.capacity() == Approx(kLink).epsilon(0.02));
        CHECK(path.queue > 0);               // the link is never idle,
        CHECK(path.queue < 1.5e-3 * kLink);  // and the queue is short
    }
}

TEST_CASE("what the source sends to single members is not a rate that it can't keep") {
    for (const double share : {0.0, 0.5}) {  // Of the rate, beside the stream.
        CAPTURE(share);
        Path path;
        path.link = 100 * kLink;
        RateSearch search = search_from(kLink);
        double rate = kLink;
        for (int i = 0; i < 100; ++i) {
            RateSample sample = path.carry(rate * (1 - share));
            sample.beside = rate * share;
            rate = search.on_sample(path.now, sample);
        }
        CHECK(rate > 10 * kLink);
    }
    // Its disk, or its window, is.
    Path path;
    path.link = 100 * kLink;
    RateSearch search = search_from(kLink);
    double rate = kLink;
    for (int i = 0; i < 100; ++i) {
        rate = search.on_sample(path.now, path.carry(std::min(rate, kLink) / 2));
    }
    CHECK(rate < 2 * kLink);
}

TEST_CASE("where more passes than the train showed, a process held the train back") {
    const auto samples_until_found = [](std::uint32_t packets) {
        Path path;
        RateSearch search = search_from(kLink / 16);
        int samples = 0;
        for (; search.state() == RateSearch::State::start && samples < 100; ++samples) {
            RateSample sample = path.carry(search.rate());
            sample.packets = packets;
            static_cast<void>(search.on_sample(path.now, sample));
        }
        return samples;
    };
    CHECK(samples_until_found(150) <= 7);
    CHECK(samples_until_found(90) >= 12);  // a shaper's bucket may have passed these
}

TEST_CASE("chance loss costs no rate") {
    for (const double chance : {0.01, 0.05, 0.2}) {
        CAPTURE(chance);
        Path path;
        path.chance = chance;
        RateSearch search = search_from(kLink / 2);
        CHECK(settle(search, path) * (1 - chance) > 0.97 * kLink);
    }
}

TEST_CASE("the rate follows a link that becomes slower, and faster") {
    Path path;
    RateSearch search = search_from(kLink);
    settle(search, path);
    path.link = kLink / 3;
    CHECK(settle(search, path) == Approx(kLink / 3).epsilon(0.02));
    path.link = kLink;
    CHECK(settle(search, path) == Approx(kLink).epsilon(0.02));
}

TEST_CASE("no rate exceeds the bound, nor falls below the least") {
    Path path;
    RateSearch search = search_from(1e6, kLink / 4);
    CHECK(settle(search, path) == Approx(kLink / 4).epsilon(0.001));
    Path narrow;
    narrow.link = 10e3;
    RateSearch slow = search_from(kLink);
    settle(slow, narrow);
    CHECK(slow.rate() == 125'000);
}

TEST_CASE("a remembered path begins where it was") {
    RateSearch search{{}, 1514, 1e12};
    search.begin(kStart, kLink, RateSearch::From::memory);
    CHECK(search.state() == RateSearch::State::cruise);
    CHECK(search.rate() == kLink);
    CHECK(search.capacity() == kLink);
}

TEST_CASE("a queue that another flow keeps full is competed for, and left when it goes") {
    Path path;
    RateSearch search = search_from(kLink);
    settle(search, path);
    // The other takes whatever we leave, and keeps the queue at 10 ms.
    for (int i = 0; i < 400 && search.state() != RateSearch::State::compete; ++i) {
        RateSample sample = path.carry(search.rate());
        sample.queue = 0.010;
        static_cast<void>(search.on_sample(path.now, sample));
    }
    REQUIRE(search.state() == RateSearch::State::compete);
    const double before = search.rate();
    for (int i = 0; i < 100; ++i) {
        RateSample sample = path.carry(before);
        sample.queue = 0.010;
        static_cast<void>(search.on_sample(path.now, sample));
    }
    CHECK(search.rate() > before);  // it does not give way to the queue
    for (int i = 0; i < 20; ++i) {
        static_cast<void>(search.on_sample(path.now, path.carry(kLink / 2)));
    }
    CHECK(search.state() == RateSearch::State::cruise);
}

TEST_CASE("a capacity believed too large is corrected, not competed for") {
    Path path;
    path.buffer = 10e6;
    RateSearch search = search_from(3 * kLink);
    RateSample sample = path.carry(search.rate());
    sample.delivered = sample.passed = 2.8 * kLink;  // a shaper's bucket let it through
    sample.queue = 0.004;
    static_cast<void>(search.on_sample(path.now, sample));
    REQUIRE(search.state() == RateSearch::State::drain);
    REQUIRE(search.rate() > 2 * kLink);
    for (int i = 0; i < 200; ++i) {
        static_cast<void>(search.on_sample(path.now, path.carry(search.rate())));
        CHECK(search.state() != RateSearch::State::compete);
    }
    CHECK(search.rate() == Approx(kLink).epsilon(0.03));
}

TEST_CASE("while little is sent a lost packet says nothing of what the path takes") {
    RateSample sample;
    sample.packets = 9;
    sample.round_trip = 0.0005;
    sample.sent = kLink / 1000;  // the window is closed
    sample.loss = 1.0 / 9;
    sample.delivered = sample.sent * (1 - sample.loss);
    sample.passed = sample.sent;
    RateSearch search = search_from(kLink);
    CHECK(search.on_sample(kStart, sample) == Approx(kLink));
    CHECK(search.state() == RateSearch::State::start);

    sample.sent = kLink;
    sample.delivered = sample.sent * (1 - sample.loss);
    sample.passed = sample.sent;
    CHECK(search.on_sample(kStart + milliseconds{5}, sample) < kLink);
    CHECK(search.state() == RateSearch::State::drain);
}

TEST_CASE("a first rate that loses most is not cruised at, though what comes does not wait") {
    RateSample sample;
    sample.packets = 20;
    sample.round_trip = 0.0005;
    sample.sent = 30 * kLink;
    sample.delivered = 10 * kLink;  // a shaper's bucket lets a burst through,
    sample.passed = 10 * kLink;
    sample.queue = 0.005;  // and a process woke late
    RateSearch search = search_from(20 * kLink);
    CHECK_FALSE(search.is_believed());
    static_cast<void>(search.on_sample(kStart, sample));
    REQUIRE(search.state() == RateSearch::State::drain);
    CHECK_FALSE(search.is_believed());

    sample.sent = search.rate();
    sample.loss = 0.8;
    sample.delivered = kLink;
    sample.passed = kLink / 0.2;
    sample.queue = 0;
    static_cast<void>(search.on_sample(kStart + milliseconds{5}, sample));
    CHECK(search.state() == RateSearch::State::drain);
    CHECK(search.rate() < kLink);

    sample.sent = search.rate();
    sample.loss = 0;
    sample.delivered = search.rate();
    sample.passed = search.rate();
    static_cast<void>(search.on_sample(kStart + milliseconds{10}, sample));
    CHECK(search.state() == RateSearch::State::cruise);
    CHECK(search.is_believed());
}

TEST_CASE("a queue that we do not fill, and that goes by itself, costs no capacity") {
    Path path;
    RateSearch search = search_from(kLink);
    settle(search, path);
    const double before = search.capacity();
    for (int i = 0; i < 3; ++i) {  // a process was late
        RateSample sample = path.carry(kLink / 2);
        sample.queue = 0.005;
        static_cast<void>(search.on_sample(path.now, sample));
    }
    CHECK(search.state() == RateSearch::State::cruise);
    CHECK(search.capacity() == before);
    CHECK(search.rate() > 0.9 * before);
}

TEST_CASE("one sample of few arrivals does not halve the capacity") {
    Path path;
    RateSearch search = search_from(kLink);
    settle(search, path);
    RateSample sample = path.carry(search.rate());
    sample.queue = 0.005;
    sample.delivered = sample.passed = 0.3 * kLink;
    static_cast<void>(search.on_sample(path.now, sample));
    CHECK(search.capacity() > 0.75 * kLink);
    CHECK(settle(search, path) == Approx(kLink).epsilon(0.01));
}

TEST_CASE("while competing, a queue that vanishes does not make a window a blast") {
    Path path;
    RateSearch search = search_from(kLink);
    settle(search, path);
    for (int i = 0; i < 400 && search.state() != RateSearch::State::compete; ++i) {
        RateSample sample = path.carry(search.rate());
        sample.queue = 0.030;
        static_cast<void>(search.on_sample(path.now, sample));
    }
    REQUIRE(search.state() == RateSearch::State::compete);
    RateSample sample = path.carry(search.rate());
    sample.queue = 0.001;
    CHECK(search.on_sample(path.now, sample) <= 1.25 * sample.passed);
}

TEST_CASE("a source that is held back for a moment does not forget the capacity") {
    Path path;
    RateSearch search = search_from(kLink);
    settle(search, path);
    for (int i = 0; i < 20; ++i) {
        static_cast<void>(search.on_sample(path.now, path.carry(kLink / 5)));
    }
    CHECK(search.rate() > 0.9 * kLink);
}

TEST_CASE("where the receivers' processes are behind, it goes as fast as they take it") {
    Path path;
    RateSearch search = search_from(kLink);
    RateSample sample = path.carry(search.rate());
    sample.fill = 0.5;
    sample.drain = 10e6;
    CHECK(search.on_sample(path.now, sample) == Approx(10e6 * 0.92));
    sample.fill = 0;
    CHECK(search.on_sample(path.now, sample) == Approx(10e6 * 1.08));
    // A window in which they stood is no speed: not all at once.
    sample.fill = 0.5;
    sample.drain = 1e4;
    CHECK(search.on_sample(path.now, sample) == Approx(10e6 * 1.08 * 0.7));
    CHECK(search.on_sample(path.now, sample) == Approx(10e6 * 1.08 * 0.49));
}

TEST_CASE("a source that cannot keep the rate does not raise it") {
    Path path;
    RateSearch search = search_from(kLink / 4);
    for (int i = 0; i < 100; ++i) {
        static_cast<void>(search.on_sample(path.now, path.carry(kLink / 10)));
    }
    CHECK(search.rate() < kLink / 2);
}

TEST_CASE("a loss that stays when the rate falls is chance, one that goes is the rate's") {
    const auto lossy = [](double loss) {
        RateSample sample;
        sample.packets = 200;
        sample.loss = loss;
        return sample;
    };
    LossProbe stays;
    CHECK(stays.on_sample(kStart, lossy(0.01), false) == LossProbe::Answer::none);
    CHECK(stays.on_sample(kStart, lossy(0.10), false) == LossProbe::Answer::slower);
    CHECK(stays.is_testing());
    CHECK(stays.on_sample(kStart, lossy(0.09), false) == LossProbe::Answer::random);
    CHECK(stays.random_loss() == Approx(0.09));
    CHECK(stays.on_sample(kStart, lossy(0.10), false) == LossProbe::Answer::none);

    LossProbe goes;
    CHECK(goes.on_sample(kStart, lossy(0.10), false) == LossProbe::Answer::slower);
    CHECK(goes.on_sample(kStart, lossy(0.01), false) == LossProbe::Answer::congestion);
    CHECK(goes.random_loss() == 0);
    CHECK(goes.on_sample(kStart, lossy(0.10), false) ==
          LossProbe::Answer::none);  // not at once
    CHECK(goes.on_sample(kStart + seconds{1}, lossy(0.10), true) == LossProbe::Answer::none);
}

// Ten times what the path takes: at 85 % of it nearly as much is lost.
TEST_CASE("loss that stays while as much arrives is no chance, but by far too high a rate") {
    for (const bool is_overload : {true, false}) {
        LossProbe test;
        RateSample sample;
        sample.packets = 200;
        sample.loss = 0.9;
        sample.delivered = 1e9;
        CHECK(test.on_sample(kStart, sample, false) == LossProbe::Answer::slower);
        sample.loss = 0.88;
        sample.delivered = is_overload ? 1e9 : LossProbe::kSlower * 1e9;
        CHECK(test.on_sample(kStart, sample, false) ==
              (is_overload ? LossProbe::Answer::overload : LossProbe::Answer::random));
        CHECK((test.random_loss() > 0) == !is_overload);
    }
}

TEST_CASE("few packets prove no loss") {
    LossProbe test;
    RateSample sample;
    sample.packets = 20;
    sample.loss = 0.2;
    CHECK(test.on_sample(kStart, sample, false) == LossProbe::Answer::none);
}

TEST_CASE("a window shrinks by loss, and grows back over what it had") {
    CubicWindow window;
    window.begin(kStart, 100);
    window.on_loss(kStart, 0.01);
    CHECK(window.packets() == Approx(70));
    window.on_loss(kStart + milliseconds{9}, 0.01);  // of the same window
    CHECK(window.packets() >= 70);
    Instant now = kStart;
    for (int i = 0; i < 1000; ++i) {
        now += milliseconds{10};
        window.grow(now, 0.01);
    }
    CHECK(window.packets() > 100);
}
