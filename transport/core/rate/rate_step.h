// The states of the rate search, and what each returns for a sample.
#pragma once

#include <cstdint>

namespace stage::core {

enum class RateState : std::uint8_t { start, drain, cruise, compete };

/// The next rate, and the state that judges the next sample.
struct RateStep {
    double rate = 0;  ///< Bytes per second; 0: the sample was too short to decide.
    RateState state = RateState::start;
};

}  // namespace stage::core
