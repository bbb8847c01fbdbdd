// The file was changed under a running daemon: what of it is in force now?
#pragma once

#include "stager/config/config.h"

#include <string>

namespace stage {

struct Reloaded {
    Config config;           ///< The new one, but for what waits for a restart.
    std::string changed;     ///< Names of keys that have a new value now, by commas.
    std::string at_restart;  ///< And of those that keep the old one until then.
};

[[nodiscard]] Reloaded reload(const Config& running, const Config& read);

}  // namespace stage
