// Tells slurmctld why a job's staging failed, and has the job requeued where the site wants
// that.
//
// From the job's first node alone, once. The reason becomes the job's AdminComment.
#pragma once

#include "stager/daemon/base/slurm_asker.h"

#include <functional>
#include <string>

namespace stage {

/// A job that has begun so often before is not requeued again.
inline constexpr std::uint32_t kRequeuesMax = 3;

/// By the site's OnNodeFault: only whole jobs, not for a user's error, and not for ever.
[[nodiscard]] bool is_to_be_requeued(const Config& config, const StageKey& key, Blame blame);

class FailureNotice {
  public:
    using OnTold = std::function<void()>;

    /// `services` outlives it.
    explicit FailureNotice(Services& services) : services_{services}, asker_{services} {}

    /// `on_told` comes once, later: slurmctld has done it, or refused, or does not answer. A
    /// job that is not requeued goes on to fail by its tasks.
    void tell(const StageKey& key, const std::string& why, bool requeue, OnTold on_told);
    [[nodiscard]] bool is_busy() const { return asker_.is_busy(); }

  private:
    Services& services_;
    SlurmAsker asker_;
};

}  // namespace stage
