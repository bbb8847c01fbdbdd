// Who else of the user's uses what a stage left elsewhere?
//
// A job that found a file in its place has it until its own end, whoever put it there: what
// outlives the first job is what others were told they have, and the lists of it become theirs
// (spawn/kept_lists.h).
#pragma once

#include "stager/daemon/verdict_store.h"
#include "stager/spawn/request.h"

#include <cstdint>

namespace stage {

/// What ends: a job with all its steps (kWholeJob), or one step.
struct EndingStage {
    std::uint32_t job_id = 0;
    std::uint32_t step_id = 0;
};

/// Says in `what`, whose user is known, which paths others use and whose they become. `root`:
/// the open StageRoot. Paths for which a request has no room (64 KiB) are left out: they go.
void find_heirs(const VerdictStore& verdicts,
                int root,
                const EndingStage& ending,
                RemoveRequest& what);

}  // namespace stage
