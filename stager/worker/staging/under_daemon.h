// What does a worker do that stagecastd started?
//
// SETUP says what; the daemon's sockets and PMIx host (or the daemon itself) connect it to its
// peers; OUTCOME says what became of the files here, as soon as they are here or can't be; then
// it serves its peers until all have them. Its exit code means nothing: the daemon has heard.
#pragma once

#include "stager/worker/broadcast/interrupts.h"
#include "transport/base/log.h"

namespace stage {

/// Takes the descriptors of worker_setup.h. Returns the process's exit code.
[[nodiscard]] int run_under_daemon(const Logger& log, Interrupts& interrupts);

}  // namespace stage
