// Parses the command line of `stagecast push`.
#pragma once

#include "stager/cli/common/launcher.h"
#include "stager/control/message.h"
#include "transport/base/result.h"

#include <span>
#include <string>

namespace stage {

struct PushOptions {
    std::string config;     ///< Path of stagecast.conf.
    std::string node_list;  ///< In Slurm's notation.
    std::string source;     ///< Absolute.
    std::string destination;
    PushMode mode = PushMode::push;
    Launcher launcher = Launcher::none;
    std::string interface;         ///< For a launcher; empty: that of the route to the nodes.
    std::uint64_t rate = 0;        ///< Bits per second; 0: the site's.
    bool ends_at_gateway = false;  ///< PushRequest.
    std::uint32_t timeout_s = 0;   ///< 0: none.
    bool is_resumable = false;     ///< --resume
    bool wants_json = false;
};

/// `words` follow "push"; a relative source is below `directory`. An error means wrong usage.
[[nodiscard]] Result<PushOptions> parse_push_options(std::span<char* const> words,
                                                     const std::string& directory);

/// Serialises the push's one spec. Fails on an invalid destination.
[[nodiscard]] Result<std::string> specs_of(const PushOptions& options);

}  // namespace stage
