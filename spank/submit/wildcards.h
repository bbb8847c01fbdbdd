// Expands *, ? and [...] in a source at submission, as a shell does in a word of its own.
//
// A shell leaves --stage-file=data/*.h5 as it is, because no file is called so. The names are
// those that exist at submission, on the submit host and for the user.
#pragma once

#include "stager/spec/stage_spec.h"

#include <string_view>
#include <vector>

namespace stage {

/// Returns a spec for each file that matches, sorted by name; `spec` itself if its source has
/// no wildcard, if a file is called so, or if nothing matches, which check_source() reports.
/// `written` is the source as the user wrote it, `spec.source` the absolute one: wildcards in
/// directories that the user did not write are none. Fails (Blame::user) if several files would
/// get one name, or if the source has a pattern that only nodes expand (name_pattern.h).
[[nodiscard]] Result<std::vector<StageSpec>> expand_wildcards(const StageSpec& spec,
                                                              std::string_view written);

}  // namespace stage
