// What does each kind of the spawner's children do?
//
// The bodies of the children, from just after fork to their exit status. Called in the child
// only.
#pragma once

#include "stager/spawn/spawner.h"

namespace stage {

/// What a child needs to know of the spawner.
struct ChildPlace {
    const std::string& cgroup;  ///< Where groups are made; empty: nowhere.
    pid_t parent;
    int report;  ///< A sentence written here goes into the child's event.
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
