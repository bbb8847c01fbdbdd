// How do the daemons of one stage come to one verdict?
//
// One object per stage and node. The root (rank 0) draws the verdict: everything done, or a
// failure and a moment's grace for others to be named beside it. Nobody else decides, except a
// node that the tree has lost: its verdict names whom it lost. Contributions rise and results
// sink through the nodes between.
//
// Pure: links, clock and chance are handed in; what is to be done comes out of take_commands()
// after each call. So a whole group runs in a test, nodes dying at any moment.
#pragma once

#include "stager/daemon/tree/branches.h"
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
    Duration margin = std::chrono::seconds{1};  ///< That others leave the root to be first.
    Duration settle_max = std::chrono::seconds{20};  ///< From the verdict until links are cut.
    /// A turn that is so late shows that this daemon itself did not run: it was stopped, or its
    /// machine was. Its neighbours are not to blame for that time.
    Duration pause_min = std::chrono::seconds{1};
    /// Without a parent, until this node decides for itself.
    [[nodiscard]] Duration orphan_max() const {
        return branch.silence_max + 2 * branch.connect_max;
    }
    /// The same where it was the root that hung up, which nobody replaces.
    [[nodiscard]] Duration rootless_max() const {
        return std::min(3 * branch.connect_max, orphan_max());
    }
};

/// What a group is told once.
struct GroupSeat {
    StageKey key;
    Tree tree;
    Rank self;
    std::vector<std::string> names;   ///< Of the nodes, by rank.
    std::vector<std::string> places;  ///< "10.0.0.3:6829", by rank: where each daemon listens.
    std::vector<std::byte> plan;      ///< Handed down in SETUP as it is.
    std::uint64_t context_base = 0;   ///< The root's: context ids of groups count up from here.
};

namespace group {

struct Connect {
    Rank to;
};
struct Send {
    Rank to;
    TreeMessage message;
};
/// The link to `to` is of no more use.
struct Hangup {
    Rank to;
};
/// What a collective came to, for this node.
struct Deliver {
    Collective kind;
    std::uint32_t sequence;
    std::vector<std::byte> bytes;
};
/// The verdict is known here. `outcomes` at the root only: what each node said, if all did.
struct Settle {
    GroupVerdict verdict;
    std::vector<Contribution> outcomes;
};
/// The wire-up begins anew, and cards go through the daemons (Collective::cards).
struct Direct {};
/// At the root only: the group needs a port that is none of these; then call move_to(), or
/// fail().
struct DrawPort {
    Rank rank;  ///< Which asks for it.
    std::set<std::uint16_t> taken;
};
/// The group's port is another, and the wire-up begins anew as by Direct.
struct Move {
    std::uint32_t move;  ///< The how-manieth.
    std::uint16_t port;
};
using Command = std::variant<Connect, Send, Hangup, Deliver, Settle, Direct, DrawPort, Move>;

/// Ports that are drawn again, before the stage fails.
inline constexpr std::uint32_t kMovesMax = 4;

}  // namespace group

class Group {
  public:
    /// `deadline`: when the root draws a failed verdict for want of time. A node that has heard
    /// of none a margin later decides for itself.
    Group(GroupSeat seat, GroupTimes times, Instant now, Instant deadline);

    /// A SETUP came over a link from `from`, the parent or another ancestor. False: it is
    /// neither.
    [[nodiscard]] bool on_parent(Instant now, Rank from);
    void on_link_up(Instant now, Rank to);
    void on_link_down(Instant now, Rank rank, const std::string& why);
    /// False if `from` may not say that: the link deserves no trust.
    [[nodiscard]] bool on_message(Instant now, Rank from, TreeMessage message);

    /// This node's part of a collective.
    void contribute(Instant now,
                    Collective kind,
                    std::uint32_t sequence,
                    std::vector<std::byte> bytes);
    /// This node (`blame`, sentence without its name) can't go on.
    void fail(Instant now, Blame blame, std::string sentence);
    /// As fail(), but another rank is to blame.
    void fail(Instant now, Failure failure);
    /// The time is over: children are at fault from which something is awaited that this node
    /// has done itself. Of those with children of their own it is not known which one is late.
    void name_awaited(Instant now, Blame blame, const std::string& why);
    /// PMIx can't bring the cards together here: let the daemons do it. Asking again is
    /// nothing; once some node is done with its part it is too late, and the stage fails with
    /// `why`.
    void request_direct(Instant now, const std::string& why);
    /// This node can't open the group's port: let another be drawn. `taken`: what other
    /// programs have here; `why`: what is said where no port helps.
    void request_port(Instant now, std::vector<std::uint16_t> taken, const std::string& why);
    /// The root: it is this port from now on.
    void move_to(std::uint16_t port);
    /// The root: no grace, no further wait.
    void decide_now(Instant now);

    /// This node's own, for the next pulse.
    void set_progress(TreeProgress own) { own_progress_ = own; }
    /// Of this node and all below it, as far as they have said; at the root of all.
    [[nodiscard]] TreeProgress progress() const;

    void on_time(Instant now);
    [[nodiscard]] std::optional<Instant> deadline() const;
    [[nodiscard]] std::vector<group::Command> take_commands();

    [[nodiscard]] const std::optional<GroupVerdict>& verdict() const { return verdict_; }
    /// The verdict is known here and below, as far as that can be: no link is needed any more.
    [[nodiscard]] bool is_finished() const { return finished_; }
    [[nodiscard]] const GroupSeat& seat() const { return seat_; }
    /// Who failed, as far as it is known here.
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
    void note(Instant now, Failure failure);
    void settle(Instant now, GroupVerdict verdict, std::vector<Contribution> outcomes = {});
    void decide_alone(Instant now, const std::string& why);
    void draw(Instant now);
    void go_direct();
    void ask_for_port(Instant now, PortsMessage asked, const std::string& why);
    void on_move(PortsMessage moved);
    [[nodiscard]] bool is_of_earlier_move(GatherKey key) const;
    void after_branches(Instant now);
    void notice_pause(Instant now);
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
    Instant parent_until_;  ///< Up: its silence is its death. Lost: then this node decides.
    std::optional<Instant> draw_at_;
    std::map<GatherKey, Gather> gathers_;
    TreeProgress own_progress_;
    std::map<Rank, TreeProgress> progress_below_;
    Failures failures_;
    std::vector<Failure> unsent_;
    std::optional<GroupVerdict> verdict_;
    std::optional<Instant> cut_at_;
    bool direct_ = false;
    PortsMessage moved_;             ///< Where the group is now; move 0: where the plan says.
    std::set<std::uint16_t> taken_;  ///< Ports, at the root: by other programs anywhere.
    bool finished_ = false;
    std::vector<group::Command> commands_;
};

}  // namespace stage
