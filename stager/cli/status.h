// The commands `stagecast status` and `stagecast explain`: what is running, and where the time
// of a stage went.
#pragma once

#include "stager/control/message.h"

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

namespace stage {

/// Runs `stagecast status [JOB]` or `stagecast explain JOB`, by `kind`. Returns the exit code.
[[nodiscard]] int run_status(StatusKind kind, std::span<char* const> words);

/// Formats one or more lines for each reported stage and push.
[[nodiscard]] std::string status_text(const nlohmann::json& report);
[[nodiscard]] std::string explain_text(const nlohmann::json& report);

}  // namespace stage
