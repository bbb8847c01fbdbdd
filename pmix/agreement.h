// Derives what all members agree on from the table of business cards alone.
//
// It needs no further message: the highest packet version that every member supports, a session
// id that no earlier run had, and a number from which a multicast group is drawn. Every
// incarnation is random, so the digest over all of them is as random as the most random one.
#pragma once

#include "pmix/business_card.h"

#include <optional>

namespace stage {

/// Returns the highest version within every card's range. If there is none it fails
/// (Blame::node), naming a member with the oldest program and one with the newest.
[[nodiscard]] Result<std::uint8_t> common_version(const CardTable& cards);

/// The values that the table determines. They are the same on every member.
struct Agreement {
    std::uint8_t version = 0;
    /// The session id where no daemon gives one: the first half of a SHA-256 over all cards.
    std::array<std::byte, 16> session{};
    /// Selects the multicast address and port where no daemon does: the other half of the same
    /// digest, mixed with the PMIx group's context id if the PMIx server gave one. The id alone
    /// is not enough: Open MPI 5 gives every mpirun the same one.
    std::uint64_t draw = 0;
};

/// Requires a table that check_cards() accepts. `context_id`: Directory::context_id().
[[nodiscard]] Result<Agreement> agree(const CardTable& cards,
                                      std::optional<std::uint64_t> context_id);

}  // namespace stage
