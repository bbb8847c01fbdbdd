// Answers other nodes that wait for this node, their job's first, to set their stage up.
//
// The answer is whether a plugin has announced the stage here. For a requeued job slurmd may
// have left out this node's prolog (requeued_request.h). In that case the question has the
// request of the other node's plugin, slurmctld is asked once for all who wait, and the stage
// is announced by that request.
#pragma once

#include "stager/daemon/base/basics.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/base/slurm_asker.h"
#include "stager/daemon/tree/driven_link.h"
#include "stager/daemon/tree/tree_message.h"

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace stage {

/// Jobs that slurmctld is asked about at one time, and links that wait for each answer. Further
/// nodes of such a job get the answer that it is queued, and ask again later.
inline constexpr std::size_t kMaxAskedJobs = 32;
inline constexpr std::size_t kMaxWaitingLinks = 16;

class AskServer {
  public:
    struct Hooks {
        std::function<TellMessage(const StageKey& key)> tell;
        /// An earlier run of the job has ended here: the plugin is loaded on this node.
        std::function<bool(std::uint32_t job_id)> has_ended;
        std::function<void(const StageRequest& request)> announce;
    };

    /// Both references outlive the object. `links` has this node's name.
    AskServer(const Basics& basics, const LinkPolicy& links, Hooks hooks)
        : basics_{basics}, links_{links}, hooks_{std::move(hooks)} {}

    void on_ask(const AskMessage& message, std::unique_ptr<DrivenLink> link);

  private:
    struct Question {
        explicit Question(const Basics& basics) : asker{basics.loop, basics.children} {}

        StageRequest request;
        std::string sender;
        SlurmAsker asker;
        std::vector<std::unique_ptr<DrivenLink>> links;
    };
    using Position = std::list<Question>::iterator;

    [[nodiscard]] bool may_announce(const AskMessage& message) const;
    [[nodiscard]] Position question_of(const StageRequest& request, const std::string& sender);
    void on_job(Position question, const Result<SlurmAnswer>& answer);
    void answer(std::unique_ptr<DrivenLink> link, const TellMessage& message);

    const Basics& basics_;
    const LinkPolicy& links_;
    Hooks hooks_;
    std::list<Question> questions_;
};

}  // namespace stage
