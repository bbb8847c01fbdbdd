// Arranges the members of a relay: from which member each receives which blocks.
//
// The source is at place 0 and the others follow cyclically in rank order. Either one tree
// carries all blocks, in which each member has at most `degree` children (degree 1 is a chain).
// Or there are two binary trees, and each carries a stripe: every second block. No member has
// children in both, so that each link carries every byte once. Nothing is exchanged: every
// member computes the same.
#pragma once

#include "transport/base/units.h"
#include "transport/settings/scheme.h"

#include <cstdint>

namespace stage::core {

/// The tree of one stripe.
struct RelayTree {
    std::uint32_t members;  ///< 2 or more.
    Rank source;
    Relay relay{};
    std::uint32_t stripe = 0;  ///< Less than relay.stripes().

    [[nodiscard]] std::uint32_t place(Rank rank) const {
        return (rank.value() + members - source.value()) % members;
    }
    [[nodiscard]] Rank at(std::uint32_t place) const {
        return Rank{static_cast<std::uint16_t>((place + source.value()) % members)};
    }
    /// Requires a place that is not the source's.
    [[nodiscard]] std::uint32_t parent(std::uint32_t place) const;
    /// The number of ancestors of a place: the source has none.
    [[nodiscard]] std::uint32_t depth(std::uint32_t place) const;
    /// The number of members of the tree below a place, that place included.
    [[nodiscard]] std::uint32_t size_below(std::uint32_t place) const;
    [[nodiscard]] bool is_chain() const { return relay.is_chain(); }

  private:
    [[nodiscard]] std::uint32_t position(std::uint32_t place) const;
};

/// A stripe goes by connections of its own, whose packets name it as their flow.
[[nodiscard]] inline Flow flow_of(const RelayTree& tree) {
    return Flow{static_cast<std::uint8_t>(tree.stripe)};
}

}  // namespace stage::core
