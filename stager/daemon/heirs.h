// Who else of the user's uses what a stage left elsewhere?
//
// A job that found a file in its place has it until its own end, whoever put it there: what
// outlives the first job is what others were told they have, and the lists of it become theirs
// (spawn/kept_lists.h). A stage that is still at work may have found any file: while there is
// one of the user's, nothing goes.
#pragma once

#include "stager/daemon/verdict_store.h"
#include "stager/spawn/request.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace stage {

/// What ends: a job with all its steps (kWholeJob), or one step.
struct EndingStage {
    std::uint32_t job_id = 0;
    std::uint32_t step_id = 0;
};

/// Stages of this node without a verdict yet, that may find files outside of their directories.
using OpenStages = std::vector<StageKey>;

/// What a stage asks for may lie outside of its directory. `specs`: spec_list.h.
[[nodiscard]] bool may_lie_outside(std::string_view specs);

/// Says in `what`, whose user is known, which paths others use and whose they become. `root`:
/// the open StageRoot. Where they are too many for a request (64 KiB), it is all paths.
void find_heirs(const VerdictStore& verdicts,
                const OpenStages& open,
                int root,
                const EndingStage& ending,
                RemoveRequest& what);

}  // namespace stage
