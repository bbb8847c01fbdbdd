// Lists what a stage's files leave outside of the stage's own directory, as entries of the
// node's cleanup list (cleanup_entry.h).
#pragma once

#include "stager/files/targets/sink_targets.h"

#include <string>
#include <vector>

namespace stage {

/// Before anything is made: the names that files have until they are whole, and what stands in
/// a file's place already and is used.
[[nodiscard]] Result<std::vector<std::string>> entries_in_progress(const SinkTargets& targets);

/// Before a temporary file has its final name: until then another file has it, or none, and
/// the entry means neither.
[[nodiscard]] Result<std::vector<std::string>> entries_named(const SinkTargets& targets);

}  // namespace stage
