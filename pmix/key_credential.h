// How do members share a key when no daemon brings one?
//
// Under srun --mpi=pmix and mpirun rank 0 draws it and puts it into its card as a munge
// credential that only its own uid may decode; munge is on every node of a Slurm cluster.
// Whoever else reads cards or the network learns nothing. libmunge gives up on a silent munged
// after some seconds.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"

#include <array>
#include <string>

namespace stage {

using CardKey = std::array<std::byte, 32>;

/// A key from getrandom().
[[nodiscard]] CardKey draw_card_key();

/// For Card::key_credential. Fails (Blame::node) if munge can't be asked.
[[nodiscard]] Result<std::string> seal_card_key(const CardKey& key);

/// Opens another member's. Decoding the same credential several times, as members on one node
/// do, is right; one of another uid is refused, and clocks that are apart are named.
[[nodiscard]] Result<CardKey> open_card_key(const std::string& credential);

}  // namespace stage
