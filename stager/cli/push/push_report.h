// How is told what a push came to?
//
// The daemon reports as JSON, and so does a push that a launcher carries: nodes, done, bytes,
// seconds, rounds, why (nothing at all could be done), failed: each with node and why.
#pragma once

#include "stager/cli/push/push_options.h"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace stage {

/// On stderr; returns `code`.
int fail_push(int code, const std::string& sentence);

/// To the user, as they wanted it. The exit code: 0 all nodes, 1 some, 2 none.
[[nodiscard]] int tell_push(const PushOptions& options, const nlohmann::json& report);

/// From now on the signals that end a command are only noted.
void catch_end_signals();
[[nodiscard]] bool was_told_to_end();

}  // namespace stage
