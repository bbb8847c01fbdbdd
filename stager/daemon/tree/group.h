// Brings the daemons of one stage to one common verdict.
//
// There is one object per stage and node. The root (rank 0) decides the verdict: success when
// every node is done, or the failure, after a second in which other failed nodes can be named
// beside the first. No other node decides, except one that has lost its connection to the tree:
// its verdict names the node that it lost. The nodes between pass contributions up and results
// down.
//
// A group that drops failed nodes (GroupSeat::drops_failed) succeeds without them, from the
// moment on at which all workers listen: a worker's failure is its node's outcome, the nodes
// below a lost one report to another parent, and the verdict lists the dropped. The root is
// never dropped, because its worker is the source.
//
// The class does no I/O: events, the clock and random values are passed in, and after each call
// take_commands() returns what is to be done. So a test can run a whole group, and fail nodes
// at any moment.
#pragma once

#include "stager/daemon/tree/branches.h"
#include "stager/daemon/tree/epoch.h"
#include "stager/daemon/tree/failures.h"
#include "stager/daemon/tree/gather.h"
#include "stager/daemon/tree/tree_message.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <variant>

namespace stage {

struct GroupTimes {
    BranchTimes branch;
    Duration grace = std::chrono::seconds{1};  ///< From the first failure to the verdict.
    Duration pulse = std::chrono::seconds{1};
    Duration margin =
        std::chrono::seconds{1};  ///< The root decides so much earlier than others.
    Duration settle_max =
        std::chrono::seconds{20};  ///< From the verdict until links are closed.
    /// A timer that fires so late shows that this daemon itself did not run: its process or its
    /// machine was stopped. Its neighbours are not to blame for that time.
    Duration pause_min = std::chrono::seconds{1};
    /// How long a node may be silent of which nothing is awaited, or which failed.
    [[nodiscard]] Duration silence_min() const {
        return std::max(branch.connect_max, 3 * pulse);
    }
    /// How long a node waits without a parent until it decides for itself.
    [[nodiscard]] Duration orphan_max() const {
        return branch.silence_max + 2 * branch.connect_max;
    }
    /// The same if the root closed the link: no other node can replace the root.
    [[nodiscard]] Duration rootless_max() const {
        return std::min(3 * branch.connect_max, orphan_max());
    }
};

/// What a group needs to know of its stage.
struct GroupSeat {
    StageKey key;
    Tree tree;
    Rank self;
    std::vector<std::string> names;   ///< Of the nodes, by rank.
    std::vector<std::string> places;  ///< "10.0.0.3:6829", by rank: the daemons' addresses.
    std::vector<std::byte> plan;      ///< Sent down in SETUP unchanged.
    std::uint64_t context_base = 0;   ///< At the root: the first of the groups' context ids.
    bool drops_failed = false;
    Epoch epoch{};  ///< The first.
};

namespace group {

struct Connect {
    Rank to;
};
struct Send {
    Rank to;
    TreeMessage message;
};
/// The link to `to` is not needed any more.
struct Hangup {
    Rank to;
};
/// The result of a collective, for this node.
struct Deliver {
    Collective kind;
    std::uint32_t sequence;
    std::vector<std::byte> bytes;
};
/// This node knows the verdict. `outcomes`, at the root only: of every node, if all are done.
struct Settle {
    GroupVerdict verdict;
    std::vector<Contribution> outcomes;
};
/// At the root only: the group needs a port that is not in `taken`; call begin_at() or fail().
struct DrawPort {
    Rank rank;  ///< The node that asks for it.
    std::set<std::uint16_t> taken;
};
/// The wire-up starts again.
struct BeginEpoch {
    Epoch epoch;
};
/// The broadcast went on without this node, which fails unless it has reported its outcome.
struct Drop {
    Failure failure;
};
using Command =
    std::variant<Connect, Send, Hangup, Deliver, Settle, DrawPort, BeginEpoch, Drop>;

}  // namespace group

class Group {
  public:
    /// `deadline`: when the root declares that the stage has timed out. A node that has
    /// received no verdict a margin later decides for itself.
    Group(GroupSeat seat, GroupTimes times, Instant now, Instant deadline);

    /// A SETUP arrived over a link from `from`. False if `from` is neither the parent nor
    /// another ancestor.
    [[nodiscard]] bool on_parent(Instant now, Rank from);
    void on_link_up(Instant now, Rank to);
    /// `why` has a cause if the network ended the link, and none if its peer closed it.
    void on_link_down(Instant now, Rank rank, const Error& why);
    /// False if `from` may not send that message: the link must be closed.
    [[nodiscard]] bool on_message(Instant now, Rank from, TreeMessage message);

    /// Adds this node's contribution to a collective. One of an earlier epoch has no effect,
    /// nor has a second one to Collective::listening.
    void contribute(Instant now,
                    Collective kind,
                    std::uint32_t sequence,
                    std::vector<std::byte> bytes);
    /// This node has failed, with `blame` and a message without the node's name.
    void fail(Instant now, Blame blame, std::string sentence);
    /// Does what fail() does, but another rank is to blame.
    void fail(Instant now, Failure failure);
    /// At the root: the broadcast went on without that node, and it is to learn it.
    void drop(Instant now, const Failure& failure);
    /// The time is over: blames the children from which something is awaited that this node has
    /// done itself. Among a child and the nodes below it, it is not known which one is late.
    void name_awaited(Instant now, Blame blame, const std::string& why);
    /// PMIx can't exchange the cards on this node: asks that the daemons do it. Asking again
    /// has no effect; if some node has already finished its part, it is too late, and the stage
    /// fails with `why`.
    void request_direct(Instant now, const std::string& why);
    /// This node can't open the group's port: asks that another one is drawn. `taken`: the
    /// ports that other programs use here; `why`: the failure if no port helps.
    void request_port(Instant now, std::vector<std::uint16_t> taken, const std::string& why);
    /// At the root: sets the group's new port.
    void begin_at(std::uint16_t port) { begin_epoch(epoch_.at_port(port)); }
    /// At the root: decides without waiting for further failures.
    void decide_now(Instant now);

    /// Sets this node's own progress, for the next pulse.
    void set_progress(TreeProgress own) { own_progress_ = own; }
    /// The progress of this node and all below it, as last reported; at the root, of all.
    [[nodiscard]] TreeProgress progress() const;

    void on_time(Instant now);
    [[nodiscard]] std::optional<Instant> deadline() const;
    [[nodiscard]] std::vector<group::Command> take_commands();

    [[nodiscard]] const std::optional<GroupVerdict>& verdict() const { return verdict_; }
    /// The verdict is known here and, as far as possible, below: no link is needed any more.
    [[nodiscard]] bool is_finished() const { return finished_; }
    [[nodiscard]] const GroupSeat& seat() const { return seat_; }
    /// The failures that are known here.
    [[nodiscard]] const Failures& failures() const { return failures_; }

  private:
    using GatherKey = std::pair<Collective, std::uint32_t>;
    enum class Above : unsigned char { root, up, lost };

    [[nodiscard]] Instant own_deadline() const {
        return is_root() ? deadline_ : deadline_ + times_.margin;
    }
    [[nodiscard]] bool is_root() const { return seat_.self == Rank{0}; }
    [[nodiscard]] bool from_above(Instant now, TreeMessage& message);
    [[nodiscard]] bool from_below(Instant now, Rank from, TreeMessage& message);
    bool gather(Instant now, Rank from, GatherKey key, std::vector<Contribution> contributions);
    void conclude(Instant now, GatherKey key, std::vector<Contribution> all);
    void conclude_outcomes(Instant now, std::vector<Contribution> all);
    void note(Instant now, Failure failure);
    void end_by(Instant now, Failure failure);
    void report_own_failure(Instant now);
    [[nodiscard]] bool can_go_on_without(Rank rank) const {
        return seat_.drops_failed && listening_ && rank != Rank{0};
    }
    void await_instead(Instant now, Rank lost, const std::vector<Rank>& below);
    void take_drop(Instant now, const DropMessage& drop);
    void settle(Instant now, GroupVerdict verdict, std::vector<Contribution> outcomes = {});
    void decide_alone(Instant now, const std::string& why);
    void draw(Instant now);
    void ask_for_port(Instant now, PortsMessage asked, const std::string& why);
    void begin_epoch(const Epoch& epoch);
    [[nodiscard]] TreeMessage epoch_message() const;
    void after_branches(Instant now);
    void notice_pause(Instant now);
    void notice_long_pause(Instant now, Duration pause);
    void end_doubt(Instant now);
    void leave(const std::string& why);
    [[nodiscard]] std::string said_of(const LostBranch& lost) const;
    void finish_if_settled();
    void send(Rank to, TreeMessage message);
    void send_setup(Instant now, Rank to);
    void send_below(const TreeMessage& message);
    void send_above(TreeMessage message);

    GroupSeat seat_;
    GroupTimes times_;
    Branches branches_;
    Instant deadline_;
    Instant pulse_at_;
    Above above_;
    Rank parent_{};
    Instant parent_until_;  ///< Up: when it counts as lost. Lost: when this node decides.
    std::optional<Instant> draw_at_;
    std::map<GatherKey, Gather> gathers_;
    TreeProgress own_progress_;
    std::map<Rank, TreeProgress> progress_below_;
    Failures failures_;
    /// Where failed nodes are dropped: nothing else will come from this node.
    std::optional<Failure> own_failure_;
    std::optional<ResultMessage> listening_;        ///< All workers listen, in this wire-up.
    std::optional<GatheredMessage> outcomes_sent_;  ///< For another parent, or another link.
    std::vector<DropMessage> drops_;                ///< For nodes that connect later.
    std::optional<GroupVerdict> verdict_;
    std::optional<Instant> cut_at_;
    Epoch epoch_;
    std::set<std::uint16_t>
        taken_;  ///< At the root: ports that other programs use on any node.
    /// Where failed nodes are dropped, after a pause of this daemon: until then links below
    /// that close are kept here.
    std::optional<Instant> doubt_until_;
    std::vector<std::pair<Rank, std::string>> closed_in_doubt_;
    Duration pause_{0};
    bool finished_ = false;
    std::vector<group::Command> commands_;
};

}  // namespace stage
