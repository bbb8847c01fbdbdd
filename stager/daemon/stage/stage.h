// Takes one stage on one node from its announcement to its verdict.
//
// It composes and decides little. The table (lifecycle.h) says what comes next. What all nodes
// agree on is the group's (group_driver.h), what this node does is the run's (node_run.h), and
// what becomes of the verdict is the result's (stage_result.h). Before there is a plan,
// plan_wait.h makes it or waits for it.
//
// It lives until it is of no more use: settled or ended, no process, no link.
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/daemon/base/services.h"
#include "stager/daemon/jobs/cleaner.h"
#include "stager/daemon/jobs/job_roots.h"
#include "stager/daemon/legs/import.h"
#include "stager/daemon/planning/job_watch.h"
#include "stager/daemon/planning/plan_wait.h"
#include "stager/daemon/planning/time_limits.h"
#include "stager/daemon/result/node_verdict.h"
#include "stager/daemon/result/slurm_report.h"
#include "stager/daemon/result/stage_result.h"
#include "stager/daemon/result/time_line.h"
#include "stager/daemon/run/node_run.h"
#include "stager/daemon/stage/group_driver.h"
#include "stager/daemon/stage/lifecycle.h"
#include "stager/daemon/stage/stage_description.h"
#include "stager/messages/stage_traits.h"
#include "stager/spec/spec_list.h"

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

namespace stage {

class Stage final : private NodeRunOwner {
  public:
    using OnVerdict = StageResult::OnVerdict;
    /// Something ended: ask is_quiet() and has_process() again. From the loop.
    using OnChange = std::function<void()>;

    /// All three outlive it. `roots` has the job's directory, `cleaner` removes what earlier
    /// stages of its user left elsewhere.
    Stage(Services& services,
          JobRoots& roots,
          const Cleaner& cleaner,
          StageKey key,
          OnChange on_change);
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;
    ~Stage() override = default;

    /// The local plugin: the job is here. Answered once, when the verdict is known.
    void announce(const StageRequest& request, OnVerdict on_verdict);
    /// Called before it begins: its worker here is a gateway's.
    void pass(RunPassage passage) { passage_ = std::move(passage); }
    /// A push begins here, at rank 0 of `plan`. Answered once, when the verdict is known.
    void push(const StageRequest& request, const StagePlan& plan, OnVerdict on_verdict);
    /// Another daemon's SETUP, and the link it came over. False: it is not for us.
    [[nodiscard]] bool set_up(const SetupMessage& setup,
                              const StagePlan& plan,
                              std::unique_ptr<DrivenLink> link);
    /// It has been set up, and had failed here before: the others hear so. `culprit`: as it was
    /// stored.
    void fail_as(const Verdict& stored, std::optional<Rank> culprit);
    /// Answered once, when the verdict is known.
    void await_verdict(OnVerdict on_verdict) { result_.await(std::move(on_verdict)); }
    /// The job has ended here.
    void end();
    /// The daemon ends.
    void break_off(const std::string& sentence);

    [[nodiscard]] const StageKey& key() const { return key_; }
    /// The job's owner, or root. Nothing before that is known.
    [[nodiscard]] std::optional<std::uint32_t> uid() const;
    /// How far it is, as JSON; the root knows of all nodes.
    [[nodiscard]] nlohmann::json status() const;
    /// Where its time went, as JSON.
    [[nodiscard]] nlohmann::json explanation() const;
    /// How the files went over the network: the part of explanation() on that.
    [[nodiscard]] nlohmann::json transport() const;
    /// Those of all nodes at the root; elsewhere those that this node knows.
    [[nodiscard]] Failures failures() const;
    [[nodiscard]] bool is_quiet() const;
    [[nodiscard]] bool has_process() const { return run_ && !run_->is_gone(); }
    [[nodiscard]] bool is_announced() const { return request_.has_value(); }
    [[nodiscard]] bool is_open() const { return stage::is_open(state_); }
    /// True while the stage waits for a place, or for the job's first node to have one.
    [[nodiscard]] bool is_queued() const;
    /// True while a gateway of another cluster prepares the job's files.
    [[nodiscard]] bool awaits_import() const {
        return is_open() && import_ && !passage_ && !import_->error();
    }
    /// The job's first node, by the plan; empty before that is known.
    [[nodiscard]] const std::string& first_node() const;
    /// The verdict, if the plugin may still ask for it and has not announced the stage.
    [[nodiscard]] const Verdict* unclaimed() const;
    /// The node that a failed verdict blames, if it is another one.
    [[nodiscard]] std::optional<Rank> culprit() const { return result_.culprit(); }
    /// Set up by another daemon, not announced by the plugin.
    [[nodiscard]] bool is_held() const { return state_ == StageState::held; }

  private:
    // The run's.
    void on_started() override;
    void on_wire_up_part(Collective kind,
                         std::uint32_t sequence,
                         std::vector<std::byte> bytes) override;
    void on_listening() override;
    void on_outcome(WorkerOutcome outcome) override;
    void on_dropped(const WorkerDropped& dropped) override;
    void on_wire_up_lost(const std::string& why) override;
    void on_port_taken(const std::string& why) override;
    void on_run_failed(Blame blame, const std::string& sentence) override;
    void on_gone() override;

    // The table's actions.
    void apply(StageEvent event);
    void perform(StageAction action);
    void await_plan();
    void start();
    void report_outcome();
    void report_failure();
    void give_up();
    void abandon();
    void clean_up();

    // The group's commands.
    void obey(group::Deliver& command);
    void obey(group::BeginEpoch& command);
    void obey(group::Drop& command);
    void obey(group::Settle& command);

    void take_request(const StageRequest& request);
    void on_plan(const StagePlan& plan);
    void bring_in(const StagePlan& plan);
    void drive_group(const StagePlan& plan, Rank self, Instant deadline);
    [[nodiscard]] std::optional<std::string> reason_against_start() const;
    void begin_run();
    void fail(Blame blame, std::string sentence);
    void stop_all(Blame blame, const std::string& sentence);
    void on_late();
    void ask_job();
    void on_job(const Result<SlurmAnswer>& answer);
    void on_others_late();
    void settle(const GroupVerdict& verdict, std::optional<Rank> culprit);
    [[nodiscard]] StageRole own_role() const;
    [[nodiscard]] std::optional<Failure> why_dropped() const;
    [[nodiscard]] NodeVerdict own_verdict(const GroupVerdict& verdict) const;
    void end_run(const Verdict& verdict);
    [[nodiscard]] std::vector<std::string> faulty_nodes(bool with_unnamed) const;
    void remember();
    void answer_after_slurm();
    void tell_change();

    [[nodiscard]] StageLimits limits() const;
    [[nodiscard]] TreeProgress own_progress() const;
    [[nodiscard]] StageView view() const;
    [[nodiscard]] std::string name_of_self() const;

    const Basics& basics_;
    Services& services_;
    JobRoots& roots_;
    const Cleaner& cleaner_;
    StageKey key_;
    const StageTraits& traits_;
    OnChange on_change_;
    StageState state_ = StageState::fresh;

    std::optional<StageRequest> request_;
    StageOptions options_;
    /// What StageEvent::failed tells; its rank is this node's, or another.
    std::optional<Failure> reason_;
    /// The node of reason_, where there is no plan; else this node.
    std::optional<std::string> blamed_node_;
    std::optional<RunPassage> passage_;
    std::optional<WorkerOutcome> outcome_;
    StageTimes times_;
    StageResult result_;
    bool has_asked_job_ = false;
    bool others_are_late_ = false;
    bool is_over_ = false;  ///< Slurm needs no word of what becomes of it.

    PlaceTicket place_;
    SlurmAsker asker_;  ///< For what is asked before the stage has begun here.
    SlurmReport slurm_;
    JobWatch watch_;
    PlanWait plan_wait_;
    std::unique_ptr<Import> import_;    ///< At the first node: of files of another cluster.
    std::optional<GroupDriver> group_;  ///< Once there is a plan.
    std::unique_ptr<NodeRun> run_;
    Alarm wait_alarm_;     ///< For the announcement and for the work: on_late().
    Alarm removal_alarm_;  ///< Until a removal that may not know of this stage has ended.
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stage
