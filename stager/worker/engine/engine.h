// Runs the engine: a worker that a launcher such as ssh or srun started, without a daemon.
//
// It opens its own sockets with its user's rights, meets the other members through its
// launcher, broadcasts one file, prints statistics to stdout, and reports by its exit code
// whether the whole group has the file.
#pragma once

#include "stager/worker/broadcast/interrupts.h"
#include "stager/worker/broadcast/work.h"
#include "stager/worker/engine/options.h"
#include "transport/base/log.h"

namespace stage {

/// Returns the process's exit code: 0 only if every member has the verified file. `wrap` is for
/// tests.
[[nodiscard]] int run_engine(const Logger& log,
                             const EngineOptions& options,
                             Interrupts& interrupts,
                             const DriverWrap& wrap = {});

}  // namespace stage
