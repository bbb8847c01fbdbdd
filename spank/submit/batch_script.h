// Reads which cluster a batch script asks for.
//
// sbatch shows a plugin only the plugin's own options, in no item and no variable (Slurm 22.05,
// from its source), so the script is parsed again as sbatch does: from "#!" to the first line
// that is neither a comment nor empty. A script from stdin has been consumed by then and is not
// read.
#pragma once

#include <optional>
#include <string>

namespace stage {

/// Returns the value of "#SBATCH --clusters=" in that script, or nothing. A relative name is
/// relative to `directory`, the client's.
[[nodiscard]] std::optional<std::string> cluster_of_script(const std::string& script,
                                                           const std::string& directory);

}  // namespace stage
