// Chooses how the members of a stage exchange their business cards.
//
// All kinds give each member the same table, behind the same interface (directory.h). Where no
// daemon runs there is no choice: the launcher carries the cards (launch_channel.h).
#pragma once

#include <cstddef>

namespace stage {

/// From this number of nodes on, cards go through the daemons: one PMIx_Get for each would be
/// the slowest part of the wire-up (measured: 111 ms at 1024 nodes).
inline constexpr std::size_t kMembersWithoutPmix = 1024;

enum class WireUpKind : unsigned char {
    control_tree,  ///< The daemons carry the cards: given_directory.h.
    pmix,          ///< A PMIx server carries them: pmix_directory.h.
};

/// What the choice depends on.
struct WireUpFacts {
    bool has_pmix = false;  ///< PMIx hosts can serve here, and probably on the other nodes.
    bool is_root = false;   ///< A PMIx host never serves root.
    std::size_t members = 0;
};

/// A stage whose PMIx fails later starts its wire-up again over the control tree.
[[nodiscard]] constexpr WireUpKind choose_wire_up(const WireUpFacts& facts) {
    const bool needs_no_cards = facts.members == 1;
    const bool is_large = facts.members >= kMembersWithoutPmix;
    return needs_no_cards || is_large || facts.is_root || !facts.has_pmix
               ? WireUpKind::control_tree
               : WireUpKind::pmix;
}

}  // namespace stage
