// Remembers below which StageRoot a job's directory lies.
//
// It is the StageRoot that was configured when the job's first stage began on this node. It is
// stored with the job's verdicts, so that a daemon that was restarted with another StageRoot
// stages the job's steps beside its files, and removes all of them from where they are.
#pragma once

#include "stager/config/config.h"
#include "stager/daemon/jobs/verdict_store.h"

namespace stage {

class JobRoots {
  public:
    /// Both arguments outlive the object.
    JobRoots(const Config& config, VerdictStore& store) : config_{config}, store_{store} {}

    /// The StageRoot in the configuration, or the reason why it can't be used. This descriptor
    /// and those below are borrowed until the next call.
    [[nodiscard]] Result<int> current();
    /// The StageRoot in which the job's directory lies or is to be made; remembers it.
    [[nodiscard]] Result<int> to_stage(std::uint32_t job_id);
    /// The StageRoot in which the job's directory was made, even if it could not be used today.
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
