// Encrypts the group key for the other members where no daemon distributes it.
//
// Under srun --mpi=pmix and mpirun rank 0 draws the key and puts it into its card as a munge
// credential that only its own uid may decode; munge runs on every node of a Slurm cluster. A
// reader of cards or of the network under another uid learns nothing. libmunge gives up on an
// unresponsive munged after some seconds.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"

#include <array>
#include <string>
#include <vector>

namespace stage {

using CardKey = std::array<std::byte, 32>;

/// Draws a key with getrandom().
[[nodiscard]] CardKey draw_card_key();

/// Makes a munge credential that only the own uid may decode: `what` names the bytes in errors.
/// Fails (Blame::node) if munge does not answer.
[[nodiscard]] Result<std::string> seal_for_own_uid(Bytes bytes, const std::string& what);
/// Decodes a credential that the own uid made, any number of times. An error names clocks that
/// differ.
[[nodiscard]] Result<std::vector<std::byte>> open_of_own_uid(const std::string& credential,
                                                             const std::string& what);

/// Makes Card::key_credential. Fails (Blame::node) if munge does not answer.
[[nodiscard]] Result<std::string> seal_card_key(const CardKey& key);

/// Decodes another member's credential. Several members on one node may decode the same one; a
/// credential of another uid is refused.
[[nodiscard]] Result<CardKey> open_card_key(const std::string& credential);

}  // namespace stage
