// The cards are here: what have all members agreed on by that alone?
//
// Whatever can be computed from the table needs no further message: the highest packet version
// that everyone speaks, a session id that no earlier run had, a number to draw a multicast
// group with. All incarnations are random, so their digest is as random as the most careful
// member's.
#pragma once

#include "pmix/business_card.h"

#include <optional>

namespace stage {

/// The highest version within every card's range. None: fails (Blame::node), naming a member
/// with the oldest program and one with the newest.
[[nodiscard]] Result<std::uint8_t> common_version(const CardTable& cards);

/// What the table determines, the same on every member.
struct Agreement {
    std::uint8_t version = 0;
    /// For sessions that no daemon names. SHA-256 over all cards, its first half.
    std::array<std::byte, 16> session{};
    /// Draws the group's address and port where no daemon does: from the same digest's other
    /// half, mixed with the PMIx group's context id where the host gave one. Never that id
    /// alone: Open MPI 5 gives every mpirun the same one.
    std::uint64_t draw = 0;
};

/// Requires a table that check_cards() takes. `context_id`: Directory::context_id().
[[nodiscard]] Result<Agreement> agree(const CardTable& cards,
                                      std::optional<std::uint64_t> context_id);

}  // namespace stage
