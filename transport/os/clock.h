// Reads the clock of loops and time-outs: it is never set.
#pragma once

#include "transport/base/units.h"

#include <chrono>

namespace stage {

[[nodiscard]] inline Instant read_clock() {
    return Instant{std::chrono::steady_clock::now().time_since_epoch()};
}

}  // namespace stage
