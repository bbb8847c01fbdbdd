// Names what every part of the daemon uses.
//
// A part is given these together, and everything else that it shares with other parts one by
// one: its constructor shows what it can change.
#pragma once

#include "stager/config/config.h"

namespace stage {

class Children;
class Logger;
class Loop;
struct Counters;

/// The parts borrow it; all of it outlives them.
struct Basics {
    Loop& loop;
    const Logger& log;
    const Config& config;
    Counters& counters;
    Children& children;
};

}  // namespace stage
