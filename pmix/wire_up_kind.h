// Chooses how the members of a group exchange their business cards.
//
// All kinds give each member the same table, behind the same interface (directory.h).
#pragma once

#include <cstddef>

namespace stage {

/// From this number of nodes on, cards go through the daemons: one PMIx_Get for each would be
/// the slowest part of the wire-up (measured: 111 ms at 1024 nodes).
inline constexpr std::size_t kMembersWithoutPmix = 1024;

enum class WireUpKind : unsigned char {
    none,          ///< There is no way.
    control_tree,  ///< The daemons carry the cards: given_directory.h.
    pmix,          ///< A PMIx server carries them: pmix_directory.h.
    host_list,     ///< Each member knows the address of rank 0: static/static_directory.h.
};

/// What the choice depends on.
struct WireUpFacts {
    bool has_daemons = false;    ///< False: the engine alone.
    bool has_host_list = false;  ///< The engine's: `--hosts=`, or from its launcher.
    /// With daemons: PMIx hosts can serve on this node, and then probably on the others, too.
    /// Without: a launcher (srun --mpi=pmix, mpirun) offers PMIx.
    bool has_pmix = false;
    bool is_root = false;  ///< A PMIx host never serves root.
    std::size_t members = 0;
};

/// With daemons there is always a way. A stage whose PMIx fails later starts its wire-up again
/// over the control tree.
[[nodiscard]] constexpr WireUpKind choose_wire_up(const WireUpFacts& facts) {
    if (!facts.has_daemons && facts.has_host_list) {
        return WireUpKind::host_list;
    }
    if (!facts.has_daemons) {
        return facts.has_pmix ? WireUpKind::pmix : WireUpKind::none;
    }
    const bool needs_no_cards = facts.members == 1;
    const bool is_large = facts.members >= kMembersWithoutPmix;
    return needs_no_cards || is_large || facts.is_root || !facts.has_pmix
               ? WireUpKind::control_tree
               : WireUpKind::pmix;
}

}  // namespace stage
