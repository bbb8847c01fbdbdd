// Finds the line of plugstack.conf that loads the plugin.
#pragma once

#include "transport/base/result.h"

#include <optional>
#include <string>
#include <vector>

namespace stage {

struct PlugstackLine {
    std::string file;  ///< The file that has the line.
    std::string plugin;
    std::string again;  ///< The file that loads a stagecast.so once more; mostly empty.
    bool is_required = false;
};

/// The path of plugstack.conf on this host: `named` (PlugStackConfig) if it is a path, else
/// beside the first of `slurm_confs` that exists. Empty if none of them does.
[[nodiscard]] std::string plugstack_path(const std::string& named,
                                         const std::vector<std::string>& slurm_confs);

/// Finds the first line that loads a stagecast.so, in plugstack.conf at `path` or in a file
/// that it includes (one pattern per line, as in plugstack.conf(5)). Nothing if there is none;
/// fails if `path` can't be read.
[[nodiscard]] Result<std::optional<PlugstackLine>> find_in_plugstack(const std::string& path);

}  // namespace stage
