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
#include <vector>

namespace stage {

using CardKey = std::array<std::byte, 32>;

/// A key from getrandom().
[[nodiscard]] CardKey draw_card_key();

/// A munge credential of any bytes, that only the own uid may open: `what` names them in
/// errors. Fails (Blame::node) if munge can't be asked.
[[nodiscard]] Result<std::string> seal_for_own_uid(Bytes bytes, const std::string& what);
/// Opens one of the own uid's making, as often as it likes; clocks that are apart are named.
[[nodiscard]] Result<std::vector<std::byte>> open_of_own_uid(const std::string& credential,
                                                             const std::string& what);

/// For Card::key_credential. Fails (Blame::node) if munge can't be asked.
[[nodiscard]] Result<std::string> seal_card_key(const CardKey& key);

/// Opens another member's. Decoding the same credential several times, as members on one node
/// do, is right; one of another uid is refused.
[[nodiscard]] Result<CardKey> open_card_key(const std::string& credential);

}  // namespace stage
