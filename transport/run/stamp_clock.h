// When was it, by the loop's clock, that the kernel stamped a packet?
//
// The kernel stamps by the wall clock, which may be set; the loop's never is. So the shift
// between them is taken anew for each batch, from two looks with nothing in between: with a
// call to the kernel there every stamp would come out early by what that call took, or by as
// long as others had the core meanwhile. Whoever takes the least delay that he ever saw for the
// path's own (core/rate/rate_board, core/membership/path_queue) would see a queue from then on.
#pragma once

#include "transport/base/units.h"

#include <chrono>
#include <optional>

namespace stage {

[[nodiscard]] inline Instant read_clock() {
    return Instant{std::chrono::steady_clock::now().time_since_epoch()};
}

/// What to add to a kernel's stamp to have it on the loop's clock. Of three tries the one in
/// which least passed, unless one was quick.
[[nodiscard]] inline Duration wall_clock_shift() {
    constexpr Duration kQuick = std::chrono::microseconds{5};
    std::optional<Duration> least;
    Duration shift{};
    for (int i = 0; i < 3 && (!least || *least > kQuick); ++i) {
        const Instant before = read_clock();
        const auto wall = std::chrono::duration_cast<Duration>(
            std::chrono::system_clock::now().time_since_epoch());
        const Duration passed = read_clock() - before;
        if (!least || passed < *least) {
            least = passed;
            shift = before.time_since_epoch() + passed / 2 - wall;
        }
    }
    return shift;
}

}  // namespace stage
