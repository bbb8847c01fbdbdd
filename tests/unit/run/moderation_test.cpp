#include "transport/run/moderation.h"

#include <catch2/catch.hpp>

#include <chrono>

namespace stage {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// Hears `packets` each `every`, until `total` came.
Instant hear(Moderation& moderation,
             Instant now,
             std::size_t total,
             std::size_t packets,
             Duration every) {
    for (std::size_t heard = 0; heard < total; heard += packets) {
        now += every;
        moderation.on_heard(now, packets);
    }
    return now;
}

TEST_CASE("the first packets are heard at once, whatever their pace") {
    Moderation moderation;
    hear(moderation, Instant{}, 255, 1, milliseconds{1});
    CHECK(moderation.wait_max() == Duration::zero());
}

TEST_CASE("packets of a stream gather for as long as sixteen of them take") {
    Moderation moderation;
    hear(moderation, Instant{}, 4000, 8, microseconds{960});  // 100 Mbit/s
    CHECK(moderation.wait_max() > microseconds{1900});
    CHECK(moderation.wait_max() <= microseconds{1920});
}

TEST_CASE("a slow stream waits eight milliseconds at most, a fast one not at all") {
    Moderation slow;
    hear(slow, Instant{}, 4000, 1, milliseconds{1});
    CHECK(slow.wait_max() == milliseconds{8});
    Moderation fast;
    hear(fast, Instant{}, 40000, 8, microseconds{10});
    CHECK(fast.wait_max() == Duration::zero());
}

TEST_CASE("where nothing had gathered the next packet is waited for") {
    Moderation moderation;
    const Instant now = hear(moderation, Instant{}, 4000, 8, milliseconds{1});
    CHECK(moderation.wait_max() > Duration::zero());
    moderation.on_heard(now + milliseconds{2}, 0);
    CHECK(moderation.wait_max() == Duration::zero());
}

TEST_CASE("a pause of the stream is forgotten within a few wake-ups") {
    Moderation moderation;
    const Instant now = hear(moderation, Instant{}, 40000, 8, microseconds{80});
    const Duration before = moderation.wait_max();
    moderation.on_heard(now + std::chrono::seconds{5}, 8);
    CHECK(moderation.wait_max() < milliseconds{2} + before);
    hear(moderation, now + std::chrono::seconds{5}, 200, 8, microseconds{80});
    CHECK(moderation.wait_max() < before * 3 / 2);
}

// Their pauses are long; then a gigabit's first bursts come.
TEST_CASE("OFFERs before a fast stream do not make its packets wait") {
    Moderation moderation;
    Instant now = hear(moderation, Instant{}, 5, 1, milliseconds{8});
    now = hear(moderation, now, 20 * 22, 22, microseconds{266});
    CHECK(moderation.wait_max() < microseconds{300});
}

}  // namespace
}  // namespace stage
