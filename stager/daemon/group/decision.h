// Decides the verdict of a group, or learns it, and sees to it that the nodes below learn it.
//
// The root (rank 0) decides: success when every node is done, or the failure, after a second in
// which other failed nodes can be named beside the first. No other node decides, except one
// that has lost its connection to the tree: its verdict names the node that it lost.
//
// A group that drops failed nodes (GroupSeat::drops_failed) succeeds without them, from the
// moment on at which all workers listen: a worker's failure is its node's outcome, the nodes
// below a lost one report to another parent, and the verdict lists the dropped. The root is
// never dropped, because its worker is the source.
#pragma once

#include "stager/daemon/group/collectives.h"
#include "stager/daemon/tree/failures.h"

#include <optional>
#include <string>
#include <vector>

namespace stage {

class Decision {
  public:
    /// All of it outlives the object. `deadline`: when the root declares that the stage has
    /// timed out.
    Decision(const GroupSeat& seat,
             const GroupTimes& times,
             NeighbourLinks& links,
             Collectives& collectives,
             Instant deadline);

    /// This node has failed, or says that another one has.
    void fail(Instant now, Failure failure);
    /// A failure that a node below reports, or that shows here.
    void note(Instant now, Failure failure);
    /// A node below is lost: no more is awaited of it, but of its children.
    void lose(Instant now, Failure failure);
    /// The time is over: blames the nodes below of which something is awaited that this node
    /// has done itself. Among a child and the nodes below it, it is not known which is late.
    void name_awaited(Instant now, Blame blame, const std::string& why);
    /// At the root: the broadcast went on without that node, and it is to learn it.
    void drop(Instant now, const Failure& failure);
    /// From above: the broadcast went on without that node.
    void on_drop(Instant now, const DropMessage& drop);
    /// A contribution has led to that.
    void on_step(Instant now, Collectives::Step step);
    /// All workers listen: a failed node's failure is its outcome now.
    void report_own_failure(Instant now);

    /// At the root: decides without waiting for further failures.
    void decide_now(Instant now);
    /// Decides what is due.
    void on_time(Instant now);
    /// Ends the wait for the nodes below to learn the verdict, if that took too long.
    void cut_off(Instant now);
    /// The verdict is that.
    void settle(Instant now, GroupVerdict verdict, std::vector<Contribution> outcomes = {});
    /// The others have gone on without this node, and nothing is sent to any of them.
    void leave(const std::string& why);
    void finish_if_settled();

    /// Sends what a node below that is connected now may have missed.
    void inform(Rank below);
    /// Sends the failures that another parent does not know.
    void inform_parent_of_failures();
    /// Sends another parent that all nodes below know the verdict.
    void inform_parent_of_end();

    [[nodiscard]] const std::optional<GroupVerdict>& verdict() const { return verdict_; }
    /// The verdict is known here and, as far as possible, below.
    [[nodiscard]] bool is_finished() const { return finished_; }
    [[nodiscard]] const Failures& failures() const { return failures_; }
    [[nodiscard]] std::optional<Instant> deadline() const;

  private:
    [[nodiscard]] bool can_go_on_without(Rank rank) const;
    [[nodiscard]] Instant own_deadline() const;
    [[nodiscard]] GroupVerdict failed(const Failures& failures) const;
    void end_by(Instant now, Failure failure);
    void decide_alone(Instant now, const std::string& why);

    const GroupSeat& seat_;
    GroupTimes times_;
    NeighbourLinks& links_;
    Collectives& collectives_;
    Instant deadline_;
    Failures failures_;
    std::optional<Instant> decide_at_;  ///< At the root: by then further failures are named.
    /// Where failed nodes are dropped: nothing else will come from this node.
    std::optional<Failure> own_failure_;
    std::vector<DropMessage> drops_;  ///< For nodes that connect later.
    std::optional<GroupVerdict> verdict_;
    std::optional<Instant> cut_at_;
    bool finished_ = false;
};

}  // namespace stage
