#include "transport/run/gathering.h"

#include <catch2/catch.hpp>

#include <chrono>

namespace stage {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// Hears `packets` each `every`, until `total` came.
Instant hear(
    Gathering& gathering, Instant now, std::size_t total, std::size_t packets, Duration every) {
    for (std::size_t heard = 0; heard < total; heard += packets) {
        now += every;
        gathering.on_heard(now, packets);
    }
    return now;
}

TEST_CASE("the first packets are heard at once, whatever their pace") {
    Gathering gathering;
    hear(gathering, Instant{}, 255, 1, milliseconds{1});
    CHECK(gathering.patience() == Duration::zero());
}

TEST_CASE("packets of a stream gather for as long as sixteen of them take") {
    Gathering gathering;
    hear(gathering, Instant{}, 4000, 8, microseconds{960});  // 100 Mbit/s
    CHECK(gathering.patience() > microseconds{1900});
    CHECK(gathering.patience() <= microseconds{1920});
}

TEST_CASE("a slow stream waits eight milliseconds at most, a fast one not at all") {
    Gathering slow;
    hear(slow, Instant{}, 4000, 1, milliseconds{1});
    CHECK(slow.patience() == milliseconds{8});
    Gathering fast;
    hear(fast, Instant{}, 40000, 8, microseconds{10});
    CHECK(fast.patience() == Duration::zero());
}

TEST_CASE("where nothing had gathered the next packet is waited for") {
    Gathering gathering;
    const Instant now = hear(gathering, Instant{}, 4000, 8, milliseconds{1});
    CHECK(gathering.patience() > Duration::zero());
    gathering.on_heard(now + milliseconds{2}, 0);
    CHECK(gathering.patience() == Duration::zero());
}

TEST_CASE("a pause of the stream is forgotten within a few wake-ups") {
    Gathering gathering;
    const Instant now = hear(gathering, Instant{}, 40000, 8, microseconds{80});
    const Duration before = gathering.patience();
    gathering.on_heard(now + std::chrono::seconds{5}, 8);
    CHECK(gathering.patience() < milliseconds{2} + before);
    hear(gathering, now + std::chrono::seconds{5}, 200, 8, microseconds{80});
    CHECK(gathering.patience() < before * 3 / 2);
}

}  // namespace
}  // namespace stage
