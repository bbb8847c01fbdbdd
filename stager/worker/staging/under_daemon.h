// Runs a worker that stagecastd started.
//
// SETUP says what to do. The daemon's sockets and the PMIx host (or the daemon itself) connect
// the worker with its peers. It sends OUTCOME as soon as its own files are complete or have
// failed, and then serves its peers until all have the files. The daemon ignores the exit code.
#pragma once

#include "stager/worker/broadcast/interrupts.h"
#include "transport/base/log.h"

namespace stage {

/// Takes over the descriptors of worker_setup.h. Returns the process's exit code.
[[nodiscard]] int run_under_daemon(const Logger& log, Interrupts& interrupts);

}  // namespace stage
