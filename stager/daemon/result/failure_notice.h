// Reports to slurmctld why a job's stage failed, and requeues the job if the site wants that.
//
// Only the job's first node does so, once. The reason becomes the job's AdminComment.
#pragma once

#include "stager/config/config.h"
#include "stager/control/message.h"
#include "stager/daemon/base/slurm_asker.h"

#include <functional>
#include <string>
#include <vector>

namespace stage {

class Logger;

/// A job that has been requeued this number of times is not requeued again.
inline constexpr std::uint32_t kRequeuesMax = 3;

/// Applies the site's OnNodeFault: whole jobs only, not after a user's error, at most
/// kRequeuesMax times.
[[nodiscard]] bool is_to_be_requeued(const Config& config, const StageKey& key, Blame blame);

class FailureNotice {
  public:
    using OnDone = std::function<void()>;

    /// All three outlive the object.
    FailureNotice(Loop& loop, Children& children, const Logger& log)
        : log_{log}, asker_{loop, children} {}

    /// `on_done` is called once, later: slurmctld has done it, has refused, or does not answer.
    /// A job that is not requeued then fails with its tasks.
    /// `faulty`: the nodes that it is then kept off. An empty `why` writes no AdminComment.
    void report(const StageKey& key,
                const std::string& why,
                bool requeue,
                std::vector<std::string> faulty,
                OnDone on_done);
    [[nodiscard]] bool is_busy() const { return asker_.is_busy(); }

  private:
    const Logger& log_;
    SlurmAsker asker_;
};

}  // namespace stage
