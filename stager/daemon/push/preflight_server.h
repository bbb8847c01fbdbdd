// Answers another node's preflight check before a push.
//
// Each link serves one check: EXAMINE arrives, a worker looks at the disk, PULSEs show that it
// still does, EXAMINED is the answer. If the other node closes the link, the check ends.
// PushFrom decides first whether the push's source is allowed; for that Slurm may have to be
// asked for the node's address. After a successful check the push has a permit here
// (push_permits.h).
#pragma once

#include "stager/daemon/base/basics.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/base/node_addresses.h"
#include "stager/daemon/base/slurm_asker.h"
#include "stager/daemon/push/local_preflight.h"
#include "stager/daemon/stage/push_permits.h"
#include "stager/daemon/tree/driven_link.h"
#include "stager/daemon/tree/tree_message.h"

#include <list>
#include <memory>

namespace stage {

/// Checks at one time; one more node is asked to retry later.
inline constexpr std::size_t kMaxPreflights = 32;

class PreflightServer {
  public:
    /// All of it outlives the object.
    struct Resources {
        NodeAddresses& addresses;
        PushPermits& permits;
        UserClosers& closers;
    };

    /// `basics` outlives the object.
    PreflightServer(const Basics& basics, const Resources& resources)
        : basics_{basics}, resources_{resources} {}

    void on_examine(const ExamineMessage& message, std::unique_ptr<DrivenLink> link);

  private:
    struct Preflight {
        std::unique_ptr<DrivenLink> link;
        ExamineMessage message;
        std::unique_ptr<SlurmAsker> asker;
        std::unique_ptr<LocalPreflight> local;
        std::unique_ptr<Alarm> pulse;
    };

    void on_change(const DrivenLink* link);
    void judge_source(Preflight& preflight);
    void on_address(const DrivenLink* link, const Result<SlurmAnswer>& answer);
    void begin_unless(const std::optional<std::string>& objection, Preflight& preflight);
    void on_done(const DrivenLink* link, const Result<WorkerLook>& look);
    void pulse(const DrivenLink* link);
    [[nodiscard]] std::list<Preflight>::iterator find(const DrivenLink* link);

    const Basics& basics_;
    Resources resources_;
    std::list<Preflight> preflights_;
};

}  // namespace stage
