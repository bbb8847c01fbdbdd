// Another node is about to push: what does it hear of this one?
//
// One look per link: EXAMINE came in, a worker looks, PULSEs say that it still does, EXAMINED
// is the answer. Whoever hangs up ends the look. First the push's source is judged by PushFrom,
// for which Slurm may have to be asked where that node is. Where all is well the push has a
// permit here (push_permits.h).
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/daemon/base/slurm_asker.h"
#include "stager/daemon/push/local_preflight.h"
#include "stager/daemon/tree/driven_link.h"
#include "stager/daemon/tree/tree_message.h"

#include <list>
#include <memory>

namespace stage {

/// Looks at one time; one more is told to come again.
inline constexpr std::size_t kMaxExaminations = 32;

class PreflightServer {
  public:
    /// `services` outlives it.
    explicit PreflightServer(Services& services) : services_{services} {}

    void on_examine(const ExamineMessage& message, std::unique_ptr<DrivenLink> link);

  private:
    struct Guest {
        std::unique_ptr<DrivenLink> link;
        ExamineMessage message;
        std::unique_ptr<SlurmAsker> asker;
        std::unique_ptr<LocalPreflight> examination;
        std::unique_ptr<Alarm> pulse;
    };

    void on_change(const DrivenLink* link);
    void judge_source(Guest& guest);
    void on_address(const DrivenLink* link, const Result<SlurmAnswer>& answer);
    void begin_unless(const std::optional<std::string>& objection, Guest& guest);
    void on_done(const DrivenLink* link, const Result<WorkerLook>& look);
    void pulse(const DrivenLink* link);
    [[nodiscard]] std::list<Guest>::iterator find(const DrivenLink* link);

    Services& services_;
    std::list<Guest> guests_;
};

}  // namespace stage
