// Copies files or directory trees from this node to many nodes, without a job.
//
// First everything is checked: the source, then each node, which must be reachable, allow the
// push and have the space (push_preflight.h). A node that fails the check is named and left
// out; one that has the files already is done. The remaining nodes are the members of one stage
// with this node as its root. A member that fails while the files are on their way is dropped:
// it is named, and the others complete. If one fails before that, the others begin another
// round without it.
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/daemon/base/services.h"
#include "stager/daemon/base/slurm_asker.h"
#include "stager/daemon/push/local_preflight.h"
#include "stager/daemon/push/push_part.h"
#include "stager/daemon/push/push_preflight.h"
#include "stager/daemon/stage/push_stages.h"
#include "stager/daemon/tree/plan.h"
#include "stager/push/push_targets.h"
#include "transport/base/random_value.h"

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace stage {

/// What a gateway pushes: it comes from another cluster, and not from this node's disk.
struct PassedOn {
    WorkerLook source;  ///< What the other cluster says of it.
    RunPassage passage;
    /// Some nodes may have the files already: compare_present() is to be called, or cancel().
    std::function<void()> on_present;
    /// All nodes have answered, and some are fit: go_on() is to be called, or cancel().
    std::function<void()> on_asked;
};

/// The name from slurmd, or from the configuration; else the host name, as Slurm assumes.
[[nodiscard]] std::string own_node_name(LinkPolicy& links);

class Push final : public PushPart {
  public:
    using OnDone = std::function<void()>;

    /// The loop calls `on_done` once, which may destroy the object. Both references outlive it.
    Push(Services& services,
         PushStages& stages,
         PushRequest request,
         OnDone on_done,
         std::optional<PassedOn> passed = std::nullopt);
    Push(const Push&) = delete;
    Push& operator=(const Push&) = delete;
    ~Push() override = default;

    void begin() override;
    /// The nodes that have the content with that digest already are done; nothing is sent to
    /// them. An empty digest is that of none.
    void compare_present(const WorkerLook& source);
    /// Begins the first round of what a gateway passes on.
    void go_on();
    [[nodiscard]] bool has_begun() const { return round_.has_value(); }
    /// Ends the push on all nodes; on_done follows.
    void cancel(const std::string& why) override;

    [[nodiscard]] const StageKey& id() const override { return request_.id; }
    /// The progress, and at the end the result.
    [[nodiscard]] nlohmann::json report() const override;

  private:
    enum class Phase : unsigned char { looking, asking, sending, over };
    using NodeState = PushTarget::State;
    struct Node : PushTarget {
        std::string address;
    };

    void resolve();
    void on_resolved(const Result<SlurmAnswer>& answer);
    void look_at_source(bool compares, LocalPreflight::OnDone on_done);
    void on_source(const Result<WorkerLook>& look);
    void look_here();
    void ask_others();
    void on_answer(Node& node, const Result<ExaminedMessage>& answer);
    void on_one_more();
    void send();
    void begin_round();
    [[nodiscard]] StagePlan plan_of_round();
    void on_verdict(const Verdict& verdict);
    void on_failed_round(const Verdict& verdict, const Failures& failures);
    void leave_out(const Failures& failures);
    void finish();

    const Basics& basics_;
    Services& services_;
    PushStages& stages_;
    PushRequest request_;
    OnDone on_done_;
    std::optional<PassedOn> passed_;
    Phase phase_ = Phase::looking;
    Instant began_;
    std::optional<Instant> ended_;
    std::string own_;                 ///< This node's name.
    PushTargets<Node> nodes_;         ///< In the order of the request.
    std::optional<std::string> why_;  ///< Why the whole push fails.
    WorkerLook source_;
    PushToken token_ = random_value<PushToken>();
    bool awaits_digest_ = false;  ///< The source's, while some nodes may have its files.
    unsigned open_looks_ = 0;  ///< The other nodes' preflight, the check of this node's disk.
    std::optional<StageKey> round_;
    std::vector<std::string> members_;  ///< The names of the round's members, by rank.
    nlohmann::json transport_ = nlohmann::json::object();  ///< What the last good round says.

    SlurmAsker asker_;
    PushPreflight preflight_;
    std::unique_ptr<LocalPreflight> source_look_;
    std::unique_ptr<LocalPreflight> own_look_;
    Alarm limit_;
    Alarm pause_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stage
