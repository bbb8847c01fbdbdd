// Defines the work of each kind of the spawner's children.
//
// The functions run from just after fork to the child's exit status, in the child only.
#pragma once

#include "stager/spawn/spawner.h"

namespace stage {

/// What a child needs to know of the spawner.
struct ChildPlace {
    const std::string& cgroup;  ///< The directory in which groups are made; empty: none.
    pid_t parent;
    int report;  ///< Text written here becomes part of the child's event.
};

/// Returns only if the program could not be executed.
[[nodiscard]] int do_program(const ProgramRequest& program,
                             const std::vector<UniqueFd>& fds,
                             ChildPlace place);
[[nodiscard]] int do_role(const SpawnRole& role,
                          const std::vector<UniqueFd>& fds,
                          ChildPlace place);
[[nodiscard]] int do_removal(const RemoveRequest& remove,
                             const std::vector<UniqueFd>& fds,
                             ChildPlace place);

}  // namespace stage
