// Decides which changes of stagecast.conf a running daemon applies.
#pragma once

#include "stager/config/config.h"

#include <string>

namespace stage {

struct Reloaded {
    Config config;           ///< The new one, except for keys that need a restart.
    std::string changed;     ///< Keys with a new value now, separated by commas.
    std::string at_restart;  ///< Keys that change at the next restart.
};

[[nodiscard]] Reloaded reload(const Config& running, const Config& read);

}  // namespace stage
