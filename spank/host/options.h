// The plugin's arguments in plugstack.conf, and the keys of stagecast.conf that the plugin
// reads.
#pragma once

#include "stager/control/message.h"
#include "transport/base/units.h"
#include "transport/os/installation.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// `optional /usr/lib/slurm/stagecast.so [conf=FILE] [socket=PATH]`. Unknown words are ignored:
/// a plugin that refuses one would prevent Slurm from starting.
struct Arguments {
    std::string conf_path = config_path();
    std::string socket_path = kControlSocket;
};

[[nodiscard]] Arguments parse_arguments(std::span<char* const> words);

/// The keys of stagecast.conf that the plugin needs, parsed as the daemon does
/// (transport/base/written_value.h). The daemon validates all keys; here a missing or invalid
/// key has its default.
struct Site {
    bool is_enabled = true;                             ///< Enabled
    Duration stage_timeout = std::chrono::minutes{10};  ///< StageTimeout
    bool is_script_first = false;                       ///< StageFrom=prolog-script
    bool may_drop = false;                              ///< OnNodeFault=drop
    std::vector<std::string> dest_roots;                ///< DestRoots, without a final slash
    std::uint64_t max_bytes = 0;                        ///< MaxBytes; 0: no limit
    bool reports = true;                                ///< StageReport
    std::string cluster_name;                           ///< ClusterName
};

[[nodiscard]] Site parse_site(std::string_view text);
/// Reads at most 1 MiB of the file; an unreadable file counts as empty.
[[nodiscard]] Site read_site(const std::string& path);

}  // namespace stage
