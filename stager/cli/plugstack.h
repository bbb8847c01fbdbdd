// Where, among Slurm's plugins, is ours?
#pragma once

#include "transport/base/result.h"

#include <optional>
#include <string>

namespace stage {

struct PlugstackLine {
    std::string file;  ///< The configuration that has it.
    std::string plugin;
    bool is_required = false;
};

/// The line that loads a stagecast.so, in plugstack.conf at `path` or what it includes (one
/// pattern a line, as plugstack.conf(5) has it). Nothing if there is none; fails if `path`
/// can't be read.
[[nodiscard]] Result<std::optional<PlugstackLine>> find_in_plugstack(const std::string& path);

}  // namespace stage
