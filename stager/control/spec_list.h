// How do a job's specs travel from the submit host to its nodes?
//
// As one line of printable text in the environment of the job's prolog, so at most 32 KiB (a
// longer string breaks exec, and a prolog that can't exec drains nodes). That environment is
// the user's to forge: parse_serialized() believes nothing and holds to all the limits again.
//
//     1;FLAGS,SOURCE,DESTINATION;FLAGS,SOURCE,DESTINATION      %XX for , ; % space and control
//
// FLAGS: one of - k n w (refuse, keep, newer, overwrite), then any of l o t d a (a list,
// optional, temporary, durable, late).
#pragma once

#include "stager/control/stage_spec.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// All specs of a job. Fails (Blame::user) with a sentence if there are too many or they are
/// too long together, or if two have one destination. Requires absolute sources and at least
/// one.
[[nodiscard]] Result<std::string> serialize(std::span<const StageSpec> specs);

/// What serialize() wrote. Fails (Blame::user: nobody else can have forged it) on anything
/// else.
[[nodiscard]] Result<std::vector<StageSpec>> parse_serialized(std::string_view line);

}  // namespace stage
