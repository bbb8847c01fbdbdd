// What is written behind the plugin's name in plugstack.conf, and in the site's configuration?
#pragma once

#include "stager/control/message.h"
#include "transport/base/units.h"
#include "transport/os/installation.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace stage {

/// `optional /usr/lib/slurm/stagecast.so [conf=FILE] [socket=PATH]`. What is unknown is
/// ignored: a plugin that refuses a word would take the cluster down with it.
struct Arguments {
    std::string conf_path = config_path();
    std::string socket_path = kControlSocket;
};

[[nodiscard]] Arguments parse_arguments(std::span<char* const> words);

/// The keys of stagecast.conf that the plugin needs itself, read as the daemon reads them
/// (transport/base/written_value.h). The daemon checks and complains of all keys; what is
/// absent here, or what it would refuse, leaves the default.
struct Site {
    bool is_enabled = true;                             ///< Enabled
    Duration stage_timeout = std::chrono::minutes{10};  ///< StageTimeout
    bool is_script_first = false;                       ///< StageFrom=prolog-script
};

[[nodiscard]] Site parse_site(std::string_view text);
/// Reads at most 1 MiB of the file; one that can't be read is an empty one.
[[nodiscard]] Site read_site(const std::string& path);

}  // namespace stage
