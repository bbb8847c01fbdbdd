// Describes a group of daemons as one of them sees it, and what that one is to do.
#pragma once

#include "stager/daemon/tree/branches.h"
#include "stager/daemon/tree/epoch.h"
#include "stager/daemon/tree/tree_message.h"

#include <algorithm>
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
    /// How long a node waits if the root closed the link: no other node can replace the root.
    [[nodiscard]] Duration rootless_max() const {
        return std::min(3 * branch.connect_max, orphan_max());
    }
};

/// What a group needs to know of its stage.
struct GroupSeat {
    StageKey key;
    Tree tree;
    Rank self;
    std::vector<std::string> names;   ///< The nodes' names, by rank.
    std::vector<std::string> places;  ///< "10.0.0.3:6829", by rank: the daemons' addresses.
    std::vector<std::byte> plan;      ///< Sent down in SETUP unchanged.
    std::uint64_t context_base = 0;   ///< At the root: the first of the groups' context ids.
    bool drops_failed = false;
    Epoch epoch{};  ///< The first epoch.

    [[nodiscard]] bool is_root() const { return self == Rank{0}; }
    /// The others go on if this node fails once it has all cards.
    [[nodiscard]] bool can_leave() const { return drops_failed && !is_root(); }
    /// A contribution of that kind is not awaited from a node that was lost.
    [[nodiscard]] bool may_lack(Collective kind) const {
        return drops_failed && kind == Collective::outcome;
    }
    [[nodiscard]] bool has(Rank rank) const { return rank.index() < tree.size(); }
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
}  // namespace stage
