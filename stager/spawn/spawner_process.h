// What does the spawner do all day?
//
// It waits for three things: a request from the daemon, the end of a child, and a child's
// report of whether its exec has worked (a pipe that closes on exec, or carries a sentence). It
// forks, kills and tells; whatever may block (name look-ups, removals, munge, Slurm) happens in
// its children. What a child leaves behind becomes the spawner's own child (it is a subreaper),
// and is killed: so nothing outlives a worker, with or without cgroups.
#pragma once

#include "stager/spawn/spawner.h"

#include <chrono>

namespace stage {

/// How long children may take to end by themselves once the daemon is gone.
inline constexpr std::chrono::seconds kSpawnerGrace{2};

/// How long a program's child may take until exec: it looks up groups, perhaps over the
/// network.
inline constexpr std::chrono::seconds kSpawnerStartMax{30};

/// The whole life of the process just forked. `daemon` is its end of the socket pair.
[[noreturn]] void run_spawner(UniqueFd daemon, SpawnerSetup setup);

}  // namespace stage
