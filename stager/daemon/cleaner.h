// What becomes of a job's files?
//
// At its end the job's directory is removed, by a child that acts as the user; so is what was
// staged elsewhere for the time of the job only, of which the workers left a list in there
// (files/stage_lists.h) and the stage another name of it (spawn/kept_lists.h). Other jobs of
// the user that found such a file in its place have it until the last of them ends. Then
// nothing of it is remembered.
#pragma once

#include "stager/daemon/heirs.h"
#include "stager/daemon/job_directory.h"
#include "stager/daemon/job_roots.h"
#include "stager/daemon/services.h"

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace stage {

class Cleaner {
  public:
    using OnDone = std::function<void()>;

    /// The stages of now (heirs.h).
    using Open = std::function<std::vector<OpenStage>()>;

    /// Both outlive it.
    Cleaner(Services& services, JobRoots& roots, Open open)
        : services_{services}, roots_{roots}, open_{std::move(open)} {}

    /// Removes the job's directory (kWholeJob) or the step's, temporary files and stored
    /// verdicts, in the background; `on_done` comes from the loop, whether all went or not.
    /// Requires that no process of the job is at work in it.
    void remove(std::uint32_t job_id, std::uint32_t step_id, OnDone on_done);

  private:
    void remove_directory(std::uint32_t job_id,
                          std::uint32_t step_id,
                          const std::shared_ptr<void>& done);
    void remove_empty_job(std::uint32_t job_id);
    void forget_root_if_gone(const Result<int>& root, std::uint32_t job_id);

    Services& services_;
    JobRoots& roots_;
    Open open_;
};

}  // namespace stage
