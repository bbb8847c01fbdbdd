// Checks at submission that the sources exist and that the user may read them.
//
// It runs on the submit host as the user, so that a typo is reported at once and not after the
// job has waited in the queue. The content is staged at the job's start, so the nodes check
// again.
#pragma once

#include "stager/spec/stage_spec.h"

#include <cstdint>

namespace stage {

/// Fails (Blame::user) for a source that is absent, unreadable, or neither file nor directory.
/// Requires an absolute source. It does not read directories: the node checks their contents.
[[nodiscard]] Status check_source(const StageSpec& spec);

/// Bytes of a source that is a readable file, without holes; 0 for all else, and where only
/// the nodes will know them.
[[nodiscard]] std::uint64_t known_bytes(const StageSpec& spec);

/// True if `path` is a file or a directory.
[[nodiscard]] bool is_file_or_directory(const std::string& path);

/// What `name` is called on the disk. (Patterns whose value only nodes know are left.)
[[nodiscard]] std::string plain_name(const std::string& name);

/// Fails (Blame::user) for a source that does not exist and has a variable in its name,
/// "$USER".
[[nodiscard]] Status check_variables(const StageSpec& spec);

}  // namespace stage
