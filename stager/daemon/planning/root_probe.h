// Asks the job's first node why no SETUP arrives.
//
// The job's first node makes the plan, once its plugin has announced the job. A node that waits
// in vain asks that node's daemon. If the daemon answers that the job was not announced there,
// the plugin is not loaded on the node that runs the batch script, so that nothing on that node
// would stop the job.
#pragma once

#include "stager/daemon/base/basics.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/base/node_addresses.h"
#include "stager/daemon/base/slurm_asker.h"
#include "stager/daemon/tree/driven_link.h"
#include "stager/daemon/tree/link_dialer.h"
#include "stager/daemon/tree/tree_message.h"

#include <functional>
#include <memory>
#include <string>

namespace stage {

class RootProbe {
  public:
    enum class Said : unsigned char { announced, queued, unannounced, nothing };
    /// `why`: for nothing, the error.
    using OnAnswer = std::function<void(Said said, const std::string& why)>;

    /// All three outlive the object.
    RootProbe(const Basics& basics, const NodeAddresses& addresses, LinkDialer& dialer);
    RootProbe(const RootProbe&) = delete;
    RootProbe& operator=(const RootProbe&) = delete;
    ~RootProbe() = default;

    /// Asks the daemon of `node`. `on_answer` is called once, later; it may destroy the object.
    void ask(const AskMessage& question, const std::string& node, OnAnswer on_answer);
    /// Asks the daemon of `node`, whose address is known. `on_answer` is called as above.
    void ask(const AskMessage& question, const SlurmNode& node, OnAnswer on_answer);

  private:
    void on_resolved(const Result<SlurmAnswer>& answer);
    void connect(const SlurmNode& node);
    void on_change();
    void finish(Said said, const std::string& why);

    const Basics& basics_;
    const NodeAddresses& addresses_;
    LinkDialer& dialer_;
    SlurmAsker asker_;
    std::unique_ptr<DrivenLink> link_;
    Alarm alarm_;
    AskMessage question_;
    OnAnswer on_answer_;
};

}  // namespace stage
