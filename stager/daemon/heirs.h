// Who else of the user's uses what a stage left elsewhere?
//
// A job that found a file in its place has it until its own end, whoever put it there: what
// outlives the first job is what others were told they have, or ask for, and the lists of it
// become theirs (spawn/kept_lists.h). What a list of files (@LIST) names is not known here: who
// has one may use anything.
#pragma once

#include "stager/daemon/verdict_store.h"
#include "stager/spawn/request.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// What ends: a job with all its steps (kWholeJob), or one step.
struct EndingStage {
    std::uint32_t job_id = 0;
    std::uint32_t step_id = 0;
};

/// What a stage asks for outside of its directory; "/" with a list. `specs`: spec_list.h. Of
/// what is malformed nothing does: no such stage begins.
[[nodiscard]] std::vector<std::string> outside_of(std::string_view specs);

/// A stage of this node without a verdict yet.
struct OpenStage {
    StageKey key;
    std::uint32_t uid = 0;
    std::vector<std::string> paths;  ///< Outside of its directory.
};

/// Says in `what`, whose user is known, which paths others use and who inherits. `root`: the
/// open StageRoot. Where they are too many for a request (48 KiB), it is all paths.
void find_heirs(const VerdictStore& verdicts,
                const std::vector<OpenStage>& open,
                int root,
                const EndingStage& ending,
                RemoveRequest& what);

}  // namespace stage
