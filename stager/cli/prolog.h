// How does a site's own Prolog script stage a job's files?
//
// It makes its scratch and then calls `stagecast prolog`, with StageFrom=prolog-script in
// stagecast.conf: the plugin's prolog, which Slurm runs before the script, then leaves it to
// that. All it needs is in the environment that slurmd gives the script.
#pragma once

#include <span>

namespace stage {

/// The exit code. 0 whatever a user can cause and however the stage ends: another one would
/// drain the node. The job's tasks learn the verdict from the plugin.
[[nodiscard]] int run_prolog(std::span<char* const> words);

}  // namespace stage
