// Carries out the commands of a stage's group on one node.
//
// What concerns links and ports is done here. What concerns this node's worker and the stage
// itself the stage gets at once, in the order of the group's commands.
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/daemon/group/group.h"
#include "stager/daemon/tree/plan.h"
#include "stager/daemon/tree/stage_links.h"

#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace stage {

class DataPorts;

/// Commands for the stage. The bytes of Collective::cards are a table of cards here
/// (pmix/business_card.h); plan() follows an epoch already; outcomes() has a verdict's.
using StageCommand =
    std::variant<group::Deliver, group::BeginEpoch, group::Drop, group::Settle>;

class GroupDriver final : private StageLinksOwner {
  public:
    /// All of it outlives the object.
    struct Resources {
        LinkDialer& dialer;
        DataPorts& ports;
    };
    struct Hooks {
        std::function<void(StageCommand)> on_command;
        std::function<TreeProgress()> progress;  ///< This node's progress, for the next pulse.
        /// The group is finished, or no link is left: ask is_quiet() again.
        std::function<void()> on_change;
    };

    /// `basics` outlives it. Nothing is done before begin() or take_parent().
    GroupDriver(const Basics& basics,
                const Resources& resources,
                const StageKey& key,
                const StagePlan& plan,
                Rank self,
                Instant deadline,
                Hooks hooks);

    /// At the root: the links to its children are made.
    void begin() { follow(); }
    /// A SETUP came over `link` from `from`. False: that is no ancestor of this node.
    [[nodiscard]] bool take_parent(Rank from, std::unique_ptr<DrivenLink> link);

    /// This node's part of a collective. Cards and listening are of the epoch that the stage
    /// knows, whatever `sequence` is.
    void contribute(Collective kind, std::uint32_t sequence, std::vector<std::byte> bytes);
    /// This node, which has all cards, has failed. The others go on without it, if the plan
    /// allows that.
    void leave(const Failure& failure);
    /// Calls Group's.
    void drop(const Failure& failure);
    void fail(Failure failure);
    void name_awaited(Blame blame, const std::string& why);
    void request_direct(const std::string& why);
    /// Another program has the group's port here.
    void request_port(const std::string& why);
    /// This node fails, whatever it has reported before, and a root decides at once.
    void stop(Blame blame, const std::string& sentence);

    /// With the port and the kind of wire-up of today.
    [[nodiscard]] const StagePlan& plan() const { return plan_; }
    [[nodiscard]] const Group& group() const { return group_; }
    [[nodiscard]] Rank self() const { return group_.seat().self; }
    [[nodiscard]] bool is_root() const { return self() == Rank{0}; }
    [[nodiscard]] bool is_alone() const { return plan_.nodes.size() == 1; }
    [[nodiscard]] const std::string& name_of_self() const {
        return plan_.nodes.at(self().index()).name;
    }
    [[nodiscard]] Instant deadline() const { return deadline_; }
    [[nodiscard]] bool is_dropped() const;
    /// Without those that are none of the group's.
    [[nodiscard]] std::vector<std::string> names_of(const std::vector<Rank>& ranks) const;
    [[nodiscard]] std::vector<std::string> names_of_dropped() const;
    /// What each node reported, at the root of a stage that settled without a failure.
    [[nodiscard]] const std::vector<Contribution>& outcomes() const { return outcomes_; }
    [[nodiscard]] bool is_quiet() const { return group_.is_finished() && links_.empty(); }

  private:
    void on_link_up(Rank rank) override;
    void on_link_down(Rank rank, const Error& why) override;
    void on_link_message(Rank rank, TreeMessage message) override;
    void on_links_gone() override { hooks_.on_change(); }

    void on_time();
    void follow();
    void obey(group::Connect& command);
    void obey(group::Send& command);
    void obey(group::Hangup& command);
    void obey(group::Deliver& command);
    void obey(group::Settle& command);
    void obey(group::DrawPort& command);
    void obey(group::BeginEpoch& command);
    void obey(group::Drop& command);
    [[nodiscard]] Instant now() const { return basics_.loop.now(); }

    const Basics& basics_;
    DataPorts& ports_;
    StageKey key_;
    StagePlan plan_;
    Instant deadline_;
    Hooks hooks_;
    StageLinks links_;
    Group group_;
    std::vector<Contribution> outcomes_;
    Alarm alarm_;
    bool is_following_ = false;
    Epoch epoch_;  ///< The epoch that the stage knows: the group may have begun the next.
};

}  // namespace stage
