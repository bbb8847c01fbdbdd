// Where, among Slurm's plugins, is ours?
#pragma once

#include "transport/base/result.h"

#include <optional>
#include <string>
#include <vector>

namespace stage {

struct PlugstackLine {
    std::string file;  ///< The configuration that has it.
    std::string plugin;
    bool is_required = false;
};

/// Where Slurm looks for plugstack.conf on this host: `named` (PlugStackConfig) if it is a
/// path, else beside the first of `slurm_confs` that exists. Empty if none of them does.
[[nodiscard]] std::string plugstack_path(const std::string& named,
                                         const std::vector<std::string>& slurm_confs);

/// The line that loads a stagecast.so, in plugstack.conf at `path` or what it includes (one
/// pattern a line, as plugstack.conf(5) has it). Nothing if there is none; fails if `path`
/// can't be read.
[[nodiscard]] Result<std::optional<PlugstackLine>> find_in_plugstack(const std::string& path);

}  // namespace stage
