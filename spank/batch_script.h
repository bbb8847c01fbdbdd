// Which cluster does a batch script ask for?
//
// sbatch shows a plugin none of its options but the plugin's own, in no item and no variable
// (Slurm 22.05, by reading), so the script's lines are read once more, as sbatch does: from
// "#!" until the first line that is neither a comment nor empty. A script from stdin has been
// read by then and is not seen.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace stage {

/// What "#SBATCH --clusters=" says in the script that these arguments of sbatch's name, or
/// nothing. Which of them is the script only sbatch knows: of the words that may be, the first
/// that is one. `directory` is the client's.
[[nodiscard]] std::optional<std::string> cluster_of_script(
    const std::vector<std::string>& words, const std::string& directory);

}  // namespace stage
