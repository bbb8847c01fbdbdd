// Which cluster does a batch script ask for?
//
// sbatch shows a plugin none of its options but the plugin's own, in no item and no variable
// (Slurm 22.05, by reading), so the script's lines are read once more, as sbatch does: from
// "#!" until the first line that is neither a comment nor empty. A script from stdin has been
// read by then and is not seen.
#pragma once

#include <optional>
#include <string>

namespace stage {

/// What "#SBATCH --clusters=" says in the script of that name, or nothing. `directory`, the
/// client's, is where a relative one lies.
[[nodiscard]] std::optional<std::string> cluster_of_script(const std::string& script,
                                                           const std::string& directory);

}  // namespace stage
