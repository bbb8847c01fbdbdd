// Inspects a host for a push without daemons, before the engine transfers anything.
//
// It runs alone, without a group. `stagecast push --launcher=` asks the source's host about the
// file, and each other node whether it has the destination and the space, or whether the same
// content is already there. The result is one line of JSON:
//
//     {"bytes": N, "digest": "...", "manifest": "..."}
//
// manifest, hexadecimal: describes a source, for the checks on the other nodes. digest: present
// if contents are compared.
#pragma once

#include "stager/worker/broadcast/interrupts.h"
#include "stager/worker/engine/options.h"

namespace stage {

/// Returns the process's exit code: 0 if all is well; otherwise an error message is on stderr.
[[nodiscard]] int run_engine_look(const EngineOptions& options, Interrupts& interrupts);

}  // namespace stage
