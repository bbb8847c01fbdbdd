// Runs the worker that libstagecast-mpi started for one node's part of a call.
//
// The library passes the request, or the offer of the root's worker; this worker examines the
// source or the destination, takes its space, and answers whether it is needed. MPI carries the
// business cards. Then it takes part in the broadcast as the engine alone does.
#pragma once

#include "stager/worker/broadcast/interrupts.h"
#include "transport/base/log.h"

namespace stage {

/// Returns the process's exit code. The socket is descriptor 3 (call_message.h); all others but
/// the first three are closed here, because they are the MPI library's.
[[nodiscard]] int run_called_engine(const Logger& log, Interrupts& interrupts);

/// Closes them. Must be called before this process opens any of its own.
void close_inherited();

}  // namespace stage
