#include "transport/run/stamp_clock.h"

#include <catch2/catch.hpp>

#include <chrono>

using namespace stage;

TEST_CASE("what was stamped between two looks at the loop's clock lies between them") {
    // The wall clock may be set, once, and this process may lose its core in one of the pairs.
    constexpr Duration kStep = std::chrono::microseconds{200};
    int between = 0;
    for (int i = 0; i < 101; ++i) {
        const Instant before = read_clock();
        const auto stamp = std::chrono::duration_cast<Duration>(
            std::chrono::system_clock::now().time_since_epoch());
        const Instant after = read_clock();
        while (read_clock() - after < 2 * kStep) {
            // The packet is read, and something else done, before its time is read.
        }
        const Instant arrived{stamp + wall_clock_shift()};
        between += arrived > before - kStep && arrived < after + kStep ? 1 : 0;
    }
    CHECK(between > 90);
}
