// Below which StageRoot does a job's directory lie?
//
// The one that was in force when its first stage began here. It is remembered with the job's
// verdicts, so that a daemon that was started with another StageRoot stages the job's steps
// beside its files, and removes all of it from where it is.
#pragma once

#include "stager/config/config.h"
#include "stager/daemon/jobs/verdict_store.h"

namespace stage {

class JobRoots {
  public:
    /// Both outlive it.
    JobRoots(const Config& config, VerdictStore& store) : config_{config}, store_{store} {}

    /// The StageRoot of today, or why it is unfit. Each of these is borrowed until the next
    /// one.
    [[nodiscard]] Result<int> current();
    /// Where the job's directory is, or is to be made: from now on that is remembered.
    [[nodiscard]] Result<int> to_stage(std::uint32_t job_id);
    /// Where the job's directory was made, whatever is thought of that place today.
    [[nodiscard]] Result<int> to_remove(std::uint32_t job_id);

  private:
    Result<int> borrow(Result<UniqueFd> root);

    const Config& config_;
    VerdictStore& store_;
    UniqueFd root_;
};

/// The job's directory, absolute.
[[nodiscard]] std::string job_directory(const Config& config,
                                        const VerdictStore& store,
                                        std::uint32_t job_id);

}  // namespace stage
