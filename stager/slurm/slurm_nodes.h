// Which nodes does Slurm know, and where are they?
//
// For the child that asks Slurm (slurm_query.h) only: everything here blocks.
#pragma once

#include "stager/slurm/slurm_query.h"

#include <string_view>

namespace stage {

/// "slurmctld does not tell ASKED", and why by errno.
[[nodiscard]] Error no_slurm_answer(std::string_view asked);

/// In the list's order.
[[nodiscard]] Result<std::vector<std::string>> expand_nodes(const std::string& list);
[[nodiscard]] Result<SlurmAnswer> resolve_nodes(const ResolveQuestion& question);
/// Of the nodes that are up; one without an address has an empty one.
[[nodiscard]] Result<SlurmAnswer> find_keepers();

}  // namespace stage
