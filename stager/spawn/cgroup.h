// How are a stage's processes kept together where there is cgroup v2?
//
// In a sub-cgroup of the daemon's own, made with the first process and removed after the last:
// an admin sees a stage's memory and CPU in one place. A comfort: whatever fails here leaves
// the process where it was, and that nothing outlives a stage rests on the spawner (a
// subreaper), not on this. Not tested on a real cgroup v2 machine yet: the places where
// stagecast is built have v1 or none.
#pragma once

#include <string>

namespace stage {

/// Makes `parent`/`group` if need be and moves this process into it.
void join_cgroup(const std::string& parent, const std::string& group);

/// Kills what is left in it and removes it.
void end_cgroup(const std::string& parent, const std::string& group);

}  // namespace stage
