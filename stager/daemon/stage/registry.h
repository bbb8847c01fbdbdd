// Keeps the stages of a node, and finds the one that a request or a SETUP is for.
//
// One entry per (job, step, restart). Requests of the plugin and SETUPs of other daemons find
// their stage here, or make it. A settled stage that nobody needs any more is dropped: what is
// left of it is its stored verdict and its directory, which END removes, or, where no plugin
// has announced it, a verdict in memory for a while.
#pragma once

#include "stager/daemon/jobs/cleaner.h"
#include "stager/daemon/jobs/endings.h"
#include "stager/daemon/jobs/sweep.h"
#include "stager/daemon/jobs/unclaimed_verdicts.h"
#include "stager/daemon/stage/stage.h"

#include <functional>
#include <list>
#include <map>
#include <memory>

namespace stage {

/// Stages that other daemons have set up and no plugin has announced. Jobs with the same first
/// node have as many of them as are left for others; one more is refused.
inline constexpr std::size_t kMaxHeld = 256;

class Registry {
  public:
    using Answer = std::function<void(const stage::Answer&)>;
    using OnEmpty = std::function<void()>;

    /// `services` outlives it.
    explicit Registry(Services& services);

    void on_request(const Request& request, Answer answer);
    void on_setup(const SetupMessage& setup, std::unique_ptr<DrivenLink> link);

    /// A round of a push begins here; `plan` has its specs.
    void push(const StageKey& key, const StagePlan& plan, Stage::OnVerdict on_verdict);
    /// What is known of a stage that lives, or nullptr.
    [[nodiscard]] Stage* find(const StageKey& key);
    [[nodiscard]] std::vector<const Stage*> all() const;

    /// What another node may hear that waits for this one's SETUP: whether the plugin here has
    /// said STAGE for it, and whether it has to wait.
    [[nodiscard]] TellMessage tell(const StageKey& key) const;

    /// Looks for what an earlier daemon left.
    void sweep() { sweep_.begin(); }
    /// All open stages fail with this sentence; `on_empty` when the others know, or at once.
    void break_off(const std::string& sentence, OnEmpty on_empty);

  private:
    void on_stage(const StageRequest& request, Answer answer);
    void find_life(const StageRequest& request, Answer answer);
    void on_query(const StageKey& asked, const Answer& answer);
    [[nodiscard]] StageKey latest(const StageKey& asked) const;
    void on_end(const EndRequest& request, Answer answer);
    void on_change(StageKey key);
    Stage& stage_of(const StageKey& key);
    void clear_push(const StageKey& key);
    void claim(const StageKey& key);
    void keep_verdict(const Stage& stage);
    void refuse(const SetupMessage& setup,
                std::string sentence,
                std::unique_ptr<DrivenLink> link);
    void learn_name(const SetupMessage& setup, const StagePlan& plan, const Link& link);
    void announce_push(const SetupMessage& setup, const StagePlan& plan);
    [[nodiscard]] std::optional<std::string> objection_to(const SetupMessage& push,
                                                          const StagePlan& plan);
    [[nodiscard]] bool is_here(std::uint32_t job_id) const;
    [[nodiscard]] bool has_process(std::uint32_t job_id, std::uint32_t step_id) const;
    [[nodiscard]] bool may_hold(const std::string& first_node) const;
    [[nodiscard]] std::optional<Verdict> stored_verdict(const StageKey& key) const;

    Services& services_;
    JobRoots roots_;
    Cleaner cleaner_;
    Endings endings_;
    Sweep sweep_;
    std::map<StageKey, std::unique_ptr<Stage>> stages_;
    UnclaimedVerdicts unclaimed_;
    std::list<SlurmAsker> askers_;  ///< About jobs that a step has announced.
    OnEmpty on_empty_;
};

}  // namespace stage
