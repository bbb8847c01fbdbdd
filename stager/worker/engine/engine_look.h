// What would the engine find here, if it were to bring the file?
//
// Alone, without a group: `stagecast push --launcher=` asks the host of the source what there
// is, and every node whether that finds place and room, or whether the same lies there already.
// One line of JSON says what was seen:
//
//     {"bytes": N, "digest": "...", "manifest": "..."}
//
// manifest, hexadecimal: of a source, for the others to look for. digest: if contents are
// compared.
#pragma once

#include "stager/worker/broadcast/interrupts.h"
#include "stager/worker/engine/options.h"

namespace stage {

/// Returns the process's exit code: 0 if all is well, else a sentence is on stderr.
[[nodiscard]] int run_engine_look(const EngineOptions& options, Interrupts& interrupts);

}  // namespace stage
