// Holds the stages of this node and passes requests to them.
//
// There is one entry per (job, step, restart). Requests of the plugin and SETUPs of other
// daemons find their stage here, or make it. A settled stage that is not needed any more is
// dropped: its stored verdict and its directory are left, which END removes, or, if no plugin
// has announced it, a verdict in memory for a while.
#pragma once

#include "stager/daemon/base/services.h"
#include "stager/daemon/jobs/cleaner.h"
#include "stager/daemon/jobs/endings.h"
#include "stager/daemon/jobs/sweep.h"
#include "stager/daemon/jobs/unclaimed_verdicts.h"
#include "stager/daemon/stage/push_stages.h"
#include "stager/daemon/stage/stage.h"

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>

namespace stage {

/// Stages that other daemons have set up and no plugin has announced. Jobs with the same first
/// node share what other first nodes leave; one more is refused.
inline constexpr std::size_t kMaxHeld = 256;
/// Jobs whose end is remembered: more than end here while slurmd remembers one (two minutes).
inline constexpr std::size_t kRememberedEnds = 1024;

class Registry final : public PushStages {
  public:
    using Answer = std::function<void(const stage::Answer&)>;
    using OnEmpty = std::function<void()>;

    /// `services` outlives the object.
    explicit Registry(Services& services);

    /// The plugin's requests about stages. `answer` is called once, at once or later.
    void on_request(const StageRequest& request, Answer answer);
    void on_request(const QueryRequest& request, const Answer& answer);
    void on_request(const EndRequest& request, Answer answer);
    void on_setup(const SetupMessage& setup, std::unique_ptr<DrivenLink> link);

    void push(const StageKey& key,
              const StagePlan& plan,
              const std::optional<RunPassage>& passage,
              Stage::OnVerdict on_verdict) override;
    [[nodiscard]] Stage* find(const StageKey& key) override;
    [[nodiscard]] std::vector<const Stage*> all() const;

    /// The answer to another node that waits for this one's SETUP: whether the plugin here has
    /// sent STAGE, and whether the stage is queued.
    [[nodiscard]] TellMessage tell(const StageKey& key) const;
    /// The plugin has sent END of this job, or of an earlier run of it, not long ago.
    [[nodiscard]] bool has_ended(std::uint32_t job_id) const;

    /// Starts to look for what an earlier daemon left behind.
    void sweep() { sweep_.begin(); }
    /// Fails all open stages with this sentence; `on_empty` is called when the others know.
    void break_off(const std::string& sentence, OnEmpty on_empty);

  private:
    void on_stage(const StageRequest& request, Answer answer);
    void find_life(const StageRequest& request, Answer answer);
    [[nodiscard]] StageKey latest(const StageKey& asked) const;
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
    void on_leg(const SetupMessage& setup,
                const StagePlan& plan,
                std::unique_ptr<DrivenLink> link);
    [[nodiscard]] std::optional<std::string> objection_to(const SetupMessage& push,
                                                          const StagePlan& plan);
    [[nodiscard]] bool is_here(std::uint32_t job_id) const;
    [[nodiscard]] bool has_process(std::uint32_t job_id, std::uint32_t step_id) const;
    [[nodiscard]] bool may_hold(const std::string& first_node) const;
    [[nodiscard]] std::optional<Verdict> stored_verdict(const StageKey& key) const;

    const Basics& basics_;
    Services& services_;
    JobRoots roots_;
    Cleaner cleaner_;
    Endings endings_;
    Sweep sweep_;
    std::map<StageKey, std::unique_ptr<Stage>> stages_;
    UnclaimedVerdicts unclaimed_;
    std::list<SlurmAsker> askers_;     ///< About jobs that a step has announced.
    std::deque<std::uint32_t> ended_;  ///< Jobs; the last one has ended last.
    OnEmpty on_empty_;
};

}  // namespace stage
