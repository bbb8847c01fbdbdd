// Gathers what all nodes contribute, and hands the results to this one.
//
// Contributions go up the tree: those of this node and of the nodes below it as one list. The
// root makes the result, which goes down to all. Every collective but the outcomes is part of
// an epoch (epoch.h), and what belongs to another one than the present is dropped here. What
// the outcomes come to is decided elsewhere (decision.h).
#pragma once

#include "stager/daemon/group/neighbour_links.h"
#include "stager/daemon/tree/gather.h"

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace stage {

class Collectives {
  public:
    /// What a contribution has led to, beyond what was sent and delivered.
    struct Step {
        bool is_allowed = true;            ///< False: its link must be closed.
        std::optional<Failure> failure{};  ///< The stage can't go on.
        std::optional<std::vector<Contribution>> outcomes{};  ///< At the root: of all nodes.
    };

    /// Both outlive the object.
    Collectives(const GroupSeat& seat, NeighbourLinks& links)
        : seat_{seat}, links_{links}, epoch_{seat.epoch} {}

    /// Adds this node's part. One of an earlier epoch has no effect, nor has a second one.
    [[nodiscard]] Step contribute(Collective kind,
                                  std::uint32_t sequence,
                                  std::vector<std::byte> bytes);
    [[nodiscard]] Step on_gathered(Rank from, GatheredMessage part);
    void on_result(const ResultMessage& result);
    /// Where failed nodes are dropped, no outcome is awaited of a lost one, but of each node
    /// `below` it.
    [[nodiscard]] Step await_instead(Rank lost, const std::vector<Rank>& below);
    /// The nodes of which something is awaited, once for each collective.
    [[nodiscard]] std::vector<Rank> awaited() const;
    /// Nothing is awaited any more, and nothing delivered.
    void end();

    // Another epoch.

    /// PMIx fails on this node or below, for the reason `why`. Returns what fails the stage.
    [[nodiscard]] std::optional<Failure> request_direct(const std::string& why);
    /// A node can't open the group's port.
    [[nodiscard]] std::optional<Failure> request_port(PortsMessage asked,
                                                      const std::string& why);
    /// Has no effect unless it is a later one.
    void begin_epoch(const Epoch& epoch);
    [[nodiscard]] const Epoch& epoch() const { return epoch_; }

    /// All workers listen, in this epoch.
    [[nodiscard]] bool all_listen() const { return listening_.has_value(); }
    /// Sends what a node below that is connected now may have missed.
    void inform(Rank below);
    /// Sends what another parent, or another link to it, needs.
    void inform_parent();

  private:
    using Key = std::pair<Collective, std::uint32_t>;
    static constexpr Key kOutcome{Collective::outcome, 0};

    [[nodiscard]] Gather* find_or_begin(Key key);
    [[nodiscard]] Step conclude(Key key, std::vector<Contribution> all);
    [[nodiscard]] bool may_be_late(Rank from, Collective kind) const;
    [[nodiscard]] TreeMessage epoch_message() const;

    const GroupSeat& seat_;
    NeighbourLinks& links_;
    Epoch epoch_;
    std::map<Key, Gather> gathers_;
    std::optional<ResultMessage> listening_;
    std::optional<GatheredMessage> outcomes_sent_;  ///< For another parent, or another link.
    std::set<std::uint16_t> taken_;  ///< At the root: ports of other programs on any node.
    bool has_ended_ = false;
};

}  // namespace stage
