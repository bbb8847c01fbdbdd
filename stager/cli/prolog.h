// The command `stagecast prolog`, by which a site's own Prolog script stages a job's files.
//
// With StageFrom=prolog-script in stagecast.conf the script makes its scratch directories and
// then calls this command; the plugin's prolog, which Slurm runs before the script, does
// nothing. The script's environment, made by slurmd, has all that is needed.
#pragma once

#include <span>

namespace stage {

/// Returns the exit code. It is 0 for every result of staging and every error of a user, since
/// another one would drain the node. The job's tasks get the verdict from the plugin.
[[nodiscard]] int run_prolog(std::span<char* const> words);

}  // namespace stage
