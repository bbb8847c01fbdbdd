// Asks Slurm for nodes and their addresses.
//
// Only for the child that asks Slurm (slurm_query.h): everything here blocks.
#pragma once

#include "stager/slurm/slurm_query.h"
#include "stager/slurm/stand_ins.h"

#include <string_view>

namespace stage {

/// "slurmctld did not return ASKED", with the reason from errno.
[[nodiscard]] Error no_slurm_answer(std::string_view asked);

/// In the list's order.
[[nodiscard]] Result<std::vector<std::string>> expand_nodes(const std::string& list);
[[nodiscard]] Result<SlurmAnswer> resolve_nodes(const ResolveQuestion& question);
/// All nodes, with their partitions.
[[nodiscard]] Result<std::vector<NodeFacts>> load_node_facts();
/// The items of a list with commas.
[[nodiscard]] std::vector<std::string> items_of(const char* list);
/// The nodes that are up; one without an address has an empty one.
[[nodiscard]] Result<SlurmAnswer> find_lease_servers();

}  // namespace stage
