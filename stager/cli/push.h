// Runs `stagecast push` over the daemons.
//
// This node's daemon does the work; the command sends the request, shows progress and waits.
// Ending the command ends the push, as the daemon sees its connection close.
#pragma once

#include "stager/cli/push/push_options.h"

#include <nlohmann/json.hpp>
#include <string>

namespace stage {

/// How a push ended.
struct PushEnd {
    int code = 0;           ///< Not 0: there is no report, and this is the exit code.
    std::string why{};      ///< Why there is none.
    nlohmann::json report;  ///< An object.
};

/// Has the daemon at `socket` carry out a push, and ends it if a signal ends the command. Shows
/// its progress unless `is_quiet`.
[[nodiscard]] PushEnd carry_out_push(const std::string& socket,
                                     const PushRequest& request,
                                     bool is_quiet);

/// Returns the exit code: 0 all nodes, 1 some of them, 2 none, or one of sysexits.h.
[[nodiscard]] int run_push(const PushOptions& options);

}  // namespace stage
