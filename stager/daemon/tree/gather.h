// Gathers the contributions to a collective from this node and from its subtrees.
//
// One object serves one collective of one stage on one node: its own contribution and those of
// its children's subtrees, each once. When complete it is sent to the parent as one list; at
// the root the list has every rank, in order. A failed stage does not need the rest. Only a
// group that drops failed nodes (group/decision.h) replaces a child by the nodes below it.
#pragma once

#include "transport/base/codec.h"
#include "transport/base/units.h"

#include <optional>
#include <utility>
#include <vector>

namespace stage {

/// What one rank contributes.
struct Contribution {
    Rank rank;
    std::vector<std::byte> bytes;

    bool operator==(const Contribution&) const = default;
};

/// Bytes per node. A business card has about 220; a malicious user's host process may send
/// more.
inline constexpr std::size_t kMaxContributionBytes = 8U << 10U;

/// Bytes in front of each contribution in a list.
inline constexpr std::size_t kContributionHead = 6;

class Gather {
  public:
    /// `children`: the nodes whose parent this node is.
    Gather(Rank self, const std::vector<Rank>& children);

    /// Adds what `from` (this node or a child) contributes for itself and all nodes below it.
    /// Returns false and adds nothing if it is neither, or has contributed before.
    [[nodiscard]] bool add(Rank from, std::vector<Contribution> contributions);

    /// Awaits `below` in place of `child`, unless `child` has contributed.
    void replace(Rank child, const std::vector<Rank>& below);

    /// Whether this node and all children have contributed.
    [[nodiscard]] bool complete() const { return awaited_.empty(); }
    /// The nodes that have not contributed yet: this one, or children.
    [[nodiscard]] const std::vector<Rank>& awaited() const { return awaited_; }
    /// All contributions by rank. Requires complete(); leaves the object empty.
    [[nodiscard]] std::vector<Contribution> take();

  private:
    std::vector<Rank> awaited_;
    std::vector<Contribution> gathered_;
};

/// Bytes of such a list in a message.
[[nodiscard]] std::size_t length_of(const std::vector<Contribution>& contributions);
/// Writes a list: a 32-bit count, then rank and bytes of each contribution.
void put_contributions(ByteWriter& writer, const std::vector<Contribution>& contributions);
/// Fails the reader on a contribution beyond kMaxContributionBytes or more than `count_max`.
[[nodiscard]] std::vector<Contribution> take_contributions(ByteReader& reader,
                                                           std::size_t count_max);

}  // namespace stage
