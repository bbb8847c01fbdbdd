// Takes an announced stage to its plan, or to the reason why it gets none.
//
// At the job's first node the stage waits for a place, then the planner makes the plan. Another
// node waits for the SETUP, which the stage receives itself, and asks the first node if it does
// not come (setup_wait.h).
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/daemon/planning/job_watch.h"
#include "stager/daemon/planning/place_ticket.h"
#include "stager/daemon/planning/planner.h"
#include "stager/daemon/planning/root_probe.h"
#include "stager/daemon/planning/setup_wait.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stage {

class PlanWait {
  public:
    /// All of it outlives the object.
    struct Resources {
        const StagePlaces& places;
        NodeAddresses& addresses;
        const HostPool& hosts;
        const DataPorts& ports;
        LinkDialer& dialer;
    };
    struct Hooks {
        /// The plan, made here.
        std::function<void(const StagePlan&)> on_plan;
        /// `node`: the first node, if it is to blame.
        std::function<void(Blame, std::string sentence, std::optional<std::string> node)>
            on_fail;
    };

    /// `basics`, `place` and `watch` outlive it. No hook is called after stop().
    PlanWait(const Basics& basics,
             const Resources& resources,
             PlaceTicket& place,
             JobWatch& watch,
             Hooks hooks);

    /// Once. `limits` count from `announced`.
    void begin(const StageRequest& request, Instant announced, const StageLimits& limits);
    /// There is a plan, or the stage has ended.
    void stop();

    /// True if this node makes the plan, and speaks for all nodes to slurmctld.
    [[nodiscard]] bool is_first() const { return is_first_; }
    /// True while the stage waits for a place, or for the job's first node to have one.
    [[nodiscard]] bool is_queued() const;

  private:
    void await_setup(const std::string& first, std::size_t rank, std::size_t nodes);
    void await_place(std::vector<std::string> names);
    void make_plan(std::vector<std::string> names);
    void on_late();
    void fail(Blame blame, std::string sentence);
    [[nodiscard]] setup_wait::Times times() const;
    [[nodiscard]] AskMessage question() const;

    void take_step(setup_wait::Step step);
    void take(setup_wait::WaitUntil& step);
    void take(setup_wait::AskFirstNode& step);
    void take(setup_wait::CancelJob& step);
    void take(setup_wait::Fail& step);

    const Basics& basics_;
    const StagePlaces& places_;
    const NodeAddresses& addresses_;
    PlaceTicket& place_;
    JobWatch& watch_;
    Hooks hooks_;
    StageRequest request_;
    Instant announced_{};
    StageLimits limits_;
    bool is_first_ = false;
    bool is_over_ = false;
    Planner planner_;
    std::optional<SetupWait> setup_wait_;  ///< Not at the first node.
    RootProbe probe_;
    SlurmAsker asker_;
    Alarm alarm_;
};

}  // namespace stage
