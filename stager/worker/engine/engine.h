// What does a worker do that nobody but a person, srun or mpirun started?
//
// The engine alone: it opens its own sockets with what its user may have, meets the others (a
// file of hosts, or PMIx), broadcasts one file, and says on stdout how that went and by its
// exit code whether the whole group has it.
#pragma once

#include "stager/worker/broadcast/interrupts.h"
#include "stager/worker/broadcast/work.h"
#include "stager/worker/engine/options.h"
#include "transport/base/log.h"

namespace stage {

/// Returns the process's exit code: 0 only if every member has the verified file. `wrap` is a
/// test's.
[[nodiscard]] int run_engine(const Logger& log,
                             const EngineOptions& options,
                             Interrupts& interrupts,
                             const DriverWrap& wrap = {});

}  // namespace stage
