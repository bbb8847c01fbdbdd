// Asks the daemon of a job's first node why no SETUP comes.
//
// The job's first node makes the plan, once its plugin has announced the job. A node that waits
// in vain asks that node's daemon. If it answers that nobody has announced the job there, then
// the plugin is not loaded on the very node that runs the batch script, and nobody there will
// stop it.
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/daemon/base/slurm_asker.h"
#include "stager/daemon/tree/driven_link.h"

#include <functional>
#include <memory>
#include <string>

namespace stage {

class RootProbe {
  public:
    enum class Said : unsigned char { announced, queued, unannounced, nothing };
    /// `why`: of nothing, a sentence.
    using OnAnswer = std::function<void(Said said, const std::string& why)>;

    /// `services` outlives it.
    explicit RootProbe(Services& services);
    RootProbe(const RootProbe&) = delete;
    RootProbe& operator=(const RootProbe&) = delete;
    ~RootProbe() = default;

    /// Asks the daemon of `node`. `on_answer` comes once, later. It may destroy this.
    void ask(const StageKey& key, const std::string& node, OnAnswer on_answer);
    /// The same, where the address is known. It may destroy this.
    void ask(const StageKey& key, const SlurmNode& node, OnAnswer on_answer);

  private:
    void on_resolved(const StageKey& key, const Result<SlurmAnswer>& answer);
    void connect(const StageKey& key, const SlurmNode& node);
    void on_change();
    void finish(Said said, const std::string& why);

    Services& services_;
    SlurmAsker asker_;
    std::unique_ptr<DrivenLink> link_;
    Alarm alarm_;
    OnAnswer on_answer_;
};

}  // namespace stage
