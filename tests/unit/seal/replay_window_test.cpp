#include "transport/seal/replay_window.h"

#include <catch2/catch.hpp>

#include <limits>

using namespace stage::seal;

TEST_CASE("each number is admitted once, and none that is too old") {
    ReplayWindow window;
    CHECK(window.admit(5));
    CHECK_FALSE(window.admit(5));
    CHECK(window.admit(3));
    CHECK_FALSE(window.admit(3));
    CHECK(window.admit(5 + ReplayWindow::kSize));
    CHECK_FALSE(window.admit(5));
    CHECK(window.admit(6));
    CHECK(window.highest() == 5 + ReplayWindow::kSize);
}

TEST_CASE("what a jump passes over may still come") {
    const std::uint64_t jump = GENERATE(2U, 63U, 64U, 65U, 1023U, 1024U, 5000U);
    CAPTURE(jump);
    ReplayWindow window;
    CHECK(window.admit(100));
    CHECK(window.admit(100 + jump));
    CHECK(window.admit(100 + jump - 1));
    CHECK_FALSE(window.admit(100 + jump - 1));
}

// The loop that forgets compared with <=, which the largest number never ends.
TEST_CASE("the largest number of all is a number") {
    constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
    ReplayWindow window;
    CHECK(window.admit(kLast - 1));
    CHECK(window.admit(kLast));
    CHECK_FALSE(window.admit(kLast));
    CHECK(window.admit(kLast - 2));
    CHECK(window.highest() == kLast);
}
