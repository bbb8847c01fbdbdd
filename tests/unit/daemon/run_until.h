// Runs a daemon's loop until a condition of a test holds.
#pragma once

#include "stager/daemon/base/loop.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <functional>

namespace stage {

/// Runs the loop until it is done; a test that waits in vain fails.
inline void run_until(Loop& loop, const std::function<bool()>& done) {
    constexpr int kLooks = 4000;
    for (int i = 0; i < kLooks && !done(); ++i) {
        loop.after(std::chrono::milliseconds{5}, [&loop] { loop.stop(); });
        loop.run();
    }
    REQUIRE(done());
}

}  // namespace stage
