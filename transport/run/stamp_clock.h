// Converts the kernel's packet stamps to the loop's clock.
//
// The kernel stamps by the wall clock, which may be set; the loop's clock never is. So the
// difference between them is measured anew for each batch, by reading both with nothing in
// between. A system call in between would make every stamp appear earlier, by the time of the
// call or of another process that ran meanwhile. The measurements that take the least delay
// ever seen for the delay of the path (core/rate/rate_board) would
// then see a queue from that time on.
#pragma once

#include "transport/base/units.h"
#include "transport/os/clock.h"

#include <chrono>
#include <optional>

namespace stage {

/// What to add to a kernel's stamp to convert it to the loop's clock. Measures up to three
/// times and takes the measurement during which the least time passed.
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
