// Keeps a stage's processes together in a cgroup, if the node has cgroup v2.
//
// The sub-cgroup of the daemon's own is made with the first process and removed after the last
// one, so that an administrator sees a stage's memory and CPU time in one place. It is
// optional: if anything fails here, the process stays where it was; that no process outlives a
// stage is ensured by the spawner (a subreaper). Not tested on a real cgroup v2 machine yet:
// the machines on which stagecast is built have v1 or none.
#pragma once

#include <string>

namespace stage {

/// Makes `parent`/`group` if it is missing and moves this process into it.
void join_cgroup(const std::string& parent, const std::string& group);

/// Kills the processes that are left in it and removes it.
void end_cgroup(const std::string& parent, const std::string& group);

}  // namespace stage
