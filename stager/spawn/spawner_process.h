// The main function of the spawner process.
//
// It waits for three things: a request from the daemon, the end of a child, and a child's
// report whether its exec has worked (a pipe that closes on exec, or carries an error message).
// It forks, kills and reports; whatever may block (name look-ups, removals, munge, Slurm)
// happens in its children. Orphans of its children become its own children (it is a subreaper)
// and are killed: so no process outlives a worker, with or without cgroups.
#pragma once

#include "stager/spawn/spawner.h"

#include <chrono>

namespace stage {

/// How long children may take to end by themselves after the daemon has ended.
inline constexpr std::chrono::seconds kSpawnerGrace{2};

/// How long a program's child may take until exec: it looks up groups, perhaps over the
/// network.
inline constexpr std::chrono::seconds kSpawnerStartMax{30};

/// Runs until the daemon has ended. `daemon` is the spawner's end of the socket pair.
[[noreturn]] void run_spawner(UniqueFd daemon, SpawnerSetup setup);

}  // namespace stage
