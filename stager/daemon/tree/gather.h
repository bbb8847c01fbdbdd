// Has every node below me said its part, and what do I hand up?
//
// One collective of one stage on one node: its own contribution and those of the subtrees of
// its children, each once. Complete, it is handed to the parent as one list; at the root the
// list has every rank, in order. A failed stage has no use for a part of it, so nothing is ever
// taken out: a child's death ends the stage by another way (group.h).
#pragma once

#include "transport/base/codec.h"
#include "transport/base/units.h"

#include <optional>
#include <utility>
#include <vector>

namespace stage {

/// What a rank's node said.
struct Contribution {
    Rank rank;
    std::vector<std::byte> bytes;

    bool operator==(const Contribution&) const = default;
};

/// Of one node, bytes. A card is about 220; a host process of a hostile user may send more.
inline constexpr std::size_t kMaxContributionBytes = 8U << 10U;

/// Each with its bytes: of a rank's contribution in a list.
inline constexpr std::size_t kContributionHead = 6;

class Gather {
  public:
    Gather(Rank self, const std::vector<Rank>& children);

    /// What `from` (this node or a child) has to say for itself and all below it. False if it
    /// is none of them, or has spoken before: nothing is taken then.
    [[nodiscard]] bool add(Rank from, std::vector<Contribution> contributions);

    /// Everybody has spoken.
    [[nodiscard]] bool complete() const { return awaited_.empty(); }
    /// Not heard yet: this node, or children.
    [[nodiscard]] const std::vector<Rank>& awaited() const { return awaited_; }
    /// All contributions by rank. Requires complete(); leaves nothing behind.
    [[nodiscard]] std::vector<Contribution> take();

  private:
    std::vector<Rank> awaited_;
    std::vector<Contribution> gathered_;
};

/// Bytes of such a list.
[[nodiscard]] std::size_t length_of(const std::vector<Contribution>& contributions);
/// As a list travels: a 32-bit count, then rank and bytes each.
void put_contributions(ByteWriter& writer, const std::vector<Contribution>& contributions);
/// Fails the reader on a contribution beyond kMaxContributionBytes or more than `count_max`.
[[nodiscard]] std::vector<Contribution> take_contributions(ByteReader& reader,
                                                           std::size_t count_max);

}  // namespace stage
