// Tracks the daemons next to this one in the control tree, and what is to be sent to them.
//
// Above is the parent, or the ancestor that has taken its place; below are the children, and
// those of lost ones (branches.h). A neighbour that is silent for too long is lost, but not by
// time in which this daemon itself did not run. The class does no I/O: what is to be done is
// taken as commands.
#pragma once

#include "stager/daemon/group/group_seat.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stage {

class NeighbourLinks {
  public:
    enum class Side : unsigned char { above, below, none };

    /// `seat` outlives the object. Connecting to the children begins.
    NeighbourLinks(const GroupSeat& seat, const GroupTimes& times, Instant now);

    // What happens.

    /// A SETUP arrived over a link from `from`. False if that is no ancestor.
    [[nodiscard]] bool take_parent(Instant now, Rank from);
    /// A link to a node below was made. False if it is not needed.
    [[nodiscard]] bool on_up(Instant now, Rank to) { return branches_.on_up(now, to); }
    /// `may_redial`: what was sent over the link and may be lost is sent again over another.
    void on_down(Instant now, Rank rank, const Error& why, bool may_redial);
    /// A message has arrived. Returns where its sender is.
    [[nodiscard]] Side on_heard(Instant now, Rank from);
    void on_time(Instant now) { branches_.on_time(now); }
    /// `from` and all nodes below it know the verdict.
    void on_settled(Rank from);
    /// A parent that was silent for too long is lost.
    void check_parent(Instant now);

    // The time in which this daemon did not run.

    /// No neighbour is to blame for that time.
    void excuse(Duration pause);
    /// Where failed nodes are dropped, the others may have gone on without this node. The nodes
    /// below it have another parent then, and it must not take their children for its own. What
    /// its parent has done, and the nodes below it, shows when it has read what had arrived:
    /// until then it keeps in mind which links below were closed.
    void doubt(Instant now, Duration pause);
    [[nodiscard]] bool is_doubt_over(Instant now) const {
        return doubt_until_ && now >= *doubt_until_;
    }
    /// Returns the pause. Links that closed meanwhile count now, unless `is_over`, or unless
    /// there is no parent.
    Duration end_doubt(Instant now, bool is_over);

    // What follows.

    /// The nodes below that were lost since the last call.
    [[nodiscard]] std::vector<LostBranch> take_lost() { return branches_.take_lost(); }
    /// Why a node was lost, as a sentence without its name.
    [[nodiscard]] std::string sentence_of(const LostBranch& lost) const;
    /// Connects to the nodes that are next.
    void connect();
    /// Gives up a node that is silent sooner than before.
    void hurry(Instant now) { branches_.hurry(now, times_.silence_min()); }
    void hurry(Instant now, Rank rank) { branches_.hurry(now, rank, times_.silence_min()); }
    [[nodiscard]] bool has_parent() const { return above_ == Above::up; }
    /// No parent, and none came for so long that this node decides for itself.
    [[nodiscard]] bool is_orphan(Instant now) const {
        return above_ == Above::lost && now >= parent_until_;
    }
    [[nodiscard]] bool is_without_parent() const { return above_ == Above::lost; }
    /// The nodes whose parent this node is now.
    [[nodiscard]] std::vector<Rank> kept() const { return branches_.kept(); }
    /// No message has to reach a node below any more.
    [[nodiscard]] bool all_settled() const { return branches_.all_settled(); }
    /// `is_over`: a parent is not needed any more.
    [[nodiscard]] std::optional<Instant> deadline(bool is_over) const;

    // What is to be done.

    void send(Rank to, TreeMessage message) { command(group::Send{to, std::move(message)}); }
    void send_below(const TreeMessage& message);
    void send_above(TreeMessage message);
    void hang_up(Rank rank) { command(group::Hangup{rank}); }
    void hang_up_below();
    void command(group::Command command) { commands_.push_back(std::move(command)); }
    [[nodiscard]] std::vector<group::Command> take_commands() {
        return std::exchange(commands_, {});
    }

  private:
    enum class Above : unsigned char { root, up, lost };

    const GroupSeat& seat_;
    GroupTimes times_;
    Branches branches_;
    Above above_;
    Rank parent_{};
    Instant parent_until_;  ///< Up: when it counts as lost. Lost: when this node decides.
    std::optional<Instant> doubt_until_;
    std::vector<std::pair<Rank, std::string>> closed_in_doubt_;
    Duration pause_{0};
    std::vector<group::Command> commands_;
};

}  // namespace stage
