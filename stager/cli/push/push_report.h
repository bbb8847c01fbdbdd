// Prints the result of a push.
//
// The daemon reports as JSON, and so does a push by a launcher: nodes, done, bytes, seconds,
// rounds, why (if nothing at all could be done), failed: each with node and why.
#pragma once

#include "stager/cli/push/push_options.h"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace stage {

/// Prints an error to stderr and returns `code`.
int fail_push(int code, const std::string& sentence);

/// Prints the report as text or JSON. Returns the exit code: 0 all nodes, 1 some, 2 none.
[[nodiscard]] int tell_push(const PushOptions& options, const nlohmann::json& report);

/// From now on signals that end a command are only recorded.
void catch_end_signals();
[[nodiscard]] bool has_end_signal();

}  // namespace stage
