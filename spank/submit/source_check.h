// Is there something to stage, and may the user read it?
//
// Asked on the submit host as the user, so that a slip of the pen costs a second and not a
// night in the queue. What is staged is the content at the job's start: the nodes look again.
#pragma once

#include "stager/spec/stage_spec.h"

namespace stage {

/// Fails (Blame::user) for what is absent, unreadable, or neither file nor directory. Requires
/// an absolute source. Opens nothing else, and reads nothing: what is in a directory is looked
/// at by the node.
[[nodiscard]] Status check_source(const StageSpec& spec);

/// What could be staged has this name.
[[nodiscard]] bool is_file_or_directory(const std::string& path);

/// Fails (Blame::user) for a source that is not there and has a variable in its name, "$USER".
[[nodiscard]] Status check_variables(const StageSpec& spec);

}  // namespace stage
