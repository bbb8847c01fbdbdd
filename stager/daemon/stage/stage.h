// How does one stage on one node go from announcement to verdict?
//
// It puts the parts together and decides little: the table (lifecycle.h) says what comes next,
// the group (group.h) what all nodes say, the run (node_run.h) what this node does, the links
// (stage_links.h) carry. It lives until nobody needs it: settled or ended, no process, no link.
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/daemon/result/failure_notice.h"
#include "stager/daemon/result/time_line.h"
#include "stager/daemon/run/node_run.h"
#include "stager/daemon/stage/job_watch.h"
#include "stager/daemon/stage/lifecycle.h"
#include "stager/daemon/stage/planner.h"
#include "stager/daemon/stage/root_probe.h"
#include "stager/daemon/stage/stage_places.h"
#include "stager/daemon/stage/time_limits.h"
#include "stager/daemon/tree/group.h"
#include "stager/daemon/tree/stage_links.h"
#include "stager/spec/spec_list.h"

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

namespace stage {

class Stage final : private NodeRunOwner, private StageLinksOwner {
  public:
    using OnVerdict = std::function<void(const Verdict&)>;
    /// Something ended: ask is_quiet() and has_process() again. From the loop.
    using OnChange = std::function<void()>;
    /// The job's StageRoot, or why it is unfit now. Borrowed for a call.
    using StageRoot = std::function<Result<int>()>;
    using IsRemoving = std::function<bool(std::uint32_t uid)>;

    /// `services` outlives it.
    /// `is_removing`: what lies elsewhere of this user's may be removed just now.
    Stage(Services& services,
          StageKey key,
          StageRoot stage_root,
          IsRemoving is_removing,
          OnChange on_change);
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;
    ~Stage() override;

    /// The local plugin: the job is here. Answered once, when the verdict is known.
    void announce(const StageRequest& request, OnVerdict on_verdict);
    /// A push begins here, at rank 0 of `plan`. Answered once, when the verdict is known.
    void push(const StageRequest& request, const StagePlan& plan, OnVerdict on_verdict);
    /// Another daemon's SETUP, and the link it came over. False: it is not for us.
    [[nodiscard]] bool set_up(const SetupMessage& setup,
                              const StagePlan& plan,
                              std::unique_ptr<DrivenLink> link);
    /// It has been set up, and had failed here before: the others are told so. `culprit`: as
    /// it was stored.
    void fail_as(const Verdict& stored, std::optional<Rank> culprit);
    /// Answered once, when the verdict is known.
    void await_verdict(OnVerdict on_verdict);
    /// The job has ended here.
    void end();
    /// The daemon ends.
    void break_off(const std::string& sentence);

    [[nodiscard]] const StageKey& key() const { return key_; }
    /// Whose it is: the job's owner, or root. Nobody's before that is known.
    [[nodiscard]] std::optional<std::uint32_t> uid() const;
    /// How far it is, as JSON; the root knows of all nodes.
    [[nodiscard]] nlohmann::json status() const;
    /// Where its time went, as JSON.
    [[nodiscard]] nlohmann::json explanation() const;
    /// Who failed, as far as this node knows; the root knows all.
    [[nodiscard]] Failures failures() const;
    [[nodiscard]] bool is_quiet() const;
    [[nodiscard]] bool has_process() const { return run_ && !run_->is_gone(); }
    [[nodiscard]] bool is_announced() const { return request_.has_value(); }
    [[nodiscard]] bool is_open() const { return stage::is_open(state_); }
    /// It waits for a place, or for the job's first node to have one.
    [[nodiscard]] bool is_queued() const;
    /// The job's first node, by the plan; empty before that is known.
    [[nodiscard]] const std::string& first_node() const;
    /// The verdict, if the plugin may still ask for it and has not announced the stage.
    [[nodiscard]] const Verdict* unclaimed() const;
    /// Of a failed verdict, if it is another node.
    [[nodiscard]] std::optional<Rank> culprit() const { return culprit_; }
    /// Set up by another daemon, not announced by the plugin.
    [[nodiscard]] bool is_held() const { return state_ == StageState::held; }

  private:
    void on_started() override;
    void on_fence_part(std::uint32_t sequence, std::vector<std::byte> bytes) override;
    void on_group_part(std::uint32_t sequence) override;
    void on_card(std::vector<std::byte> card) override;
    void on_listening() override;
    void on_outcome(WorkerOutcome outcome) override;
    void on_wire_up_lost(const std::string& why) override;
    void on_port_taken(const std::string& why) override;
    void on_run_failed(Blame blame, const std::string& sentence) override;
    void on_gone() override;
    void on_link_up(Rank rank) override;
    void on_link_down(Rank rank, const std::string& why) override;
    void on_link_message(Rank rank, TreeMessage message) override;
    void on_links_gone() override;

    void apply(StageEvent event);
    void perform(StageAction action);
    void remember();
    [[nodiscard]] TreeProgress own_progress() const;
    void take_request(const StageRequest& request);
    [[nodiscard]] bool is_push() const { return key_.job_id == kPushJob; }
    [[nodiscard]] bool is_alone() const { return plan_->nodes.size() == 1; }
    void await_plan();
    void wait_for_place(std::vector<std::string> names);
    void on_place(std::vector<std::string> names);
    void leave_place();
    void await_setup(std::size_t rank, std::size_t nodes);
    void start();
    void begin_run();
    void report_outcome();
    void report_failure();
    void log_failure() const;
    void settle(const GroupVerdict& verdict, std::optional<Rank> culprit);
    void store(const Verdict& verdict, std::optional<Rank> culprit);
    void forget_unreached();
    void abandon();
    void clean_up();
    void fail(Blame blame, std::string sentence);
    void stop_all(Blame blame, const std::string& sentence);
    void tell_slurm();
    void answer_waiting();
    void on_late();
    [[nodiscard]] bool may_announce_itself() const;
    void announce_itself();
    void on_job_of_plan(const Result<SlurmAnswer>& answer);
    void on_others_late();
    void ask_first_node();
    void on_first_node(const std::string& first, RootProbe::Said said, const std::string& why);
    void cancel_job(const std::string& sentence);
    void await_begin();
    void cancel_unbegun();

    void make_group(const StagePlan& plan, Rank self, Instant deadline);
    void follow_group();
    void follow(group::Command command);
    void deliver(group::Deliver result);
    void go_direct();
    void draw_port(const group::DrawPort& asked);
    void move(const group::Move& moved);
    /// A wire-up that began anew has other workers.
    [[nodiscard]] std::uint32_t wire_up() const {
        return 2 * moves_ + (plan_->cards_follow ? 1 : 0);
    }
    void tell_change();
    [[nodiscard]] std::optional<std::string> reason_against_start() const;
    [[nodiscard]] StageLimits limits() const;
    [[nodiscard]] std::string name_of_self() const;
    [[nodiscard]] std::string no_place() const;

    Services& services_;
    StageKey key_;
    StageRoot stage_root_;
    IsRemoving is_removing_;
    OnChange on_change_;
    StageState state_ = StageState::fresh;

    std::optional<StageRequest> request_;
    StageOptions wishes_;
    std::optional<StagePlan> plan_;
    std::optional<Failure>
        reason_;  ///< Of StageEvent::failed; its rank is this node's, or another.
    std::optional<WorkerOutcome> outcome_;
    std::vector<Contribution> outcomes_;  ///< Of all nodes, at the root.
    std::optional<Verdict> verdict_;
    std::optional<Rank> culprit_;  ///< Of verdict_, if it is another node.
    std::vector<OnVerdict> waiting_;
    StageTimes times_;
    std::optional<StagePlaces::Ticket> place_;  ///< Or what it waits for (has_place_).
    bool has_place_ = false;
    bool is_first_queued_ = false;  ///< The job's first node said so, last.
    std::optional<std::string>
        blamed_node_;  ///< Of reason_, where there is no plan; else here.
    bool has_asked_ = false;
    bool others_are_late_ = false;
    bool is_first_ = false;      ///< Makes the plan, and speaks for all nodes to slurmctld.
    bool is_over_ = false;       ///< Slurm needs no word of what becomes of it.
    bool is_requeuing_ = false;  ///< Nobody hears the verdict before slurmctld has.

    Planner planner_;
    RootProbe inquiry_;
    SlurmAsker canceller_;
    FailureNotice notice_;
    JobWatch watch_;
    StageLinks links_;
    std::optional<Group> group_;
    Instant group_deadline_{};
    std::unique_ptr<NodeRun> run_;
    Alarm wait_alarm_;   ///< For the plan, for the announcement, for the work: on_late().
    Alarm begin_alarm_;  ///< For a job of which a prolog may never come: cancel_unbegun().
    bool awaits_begin_ = false;
    Alarm removal_alarm_;  ///< Until a removal that may not know of this stage has ended.
    Instant run_deadline_{};
    Alarm group_alarm_;
    bool following_ = false;
    std::uint32_t moves_ = 0;  ///< Of the group, to other ports.
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stage
