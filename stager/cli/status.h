// What is under way here, and where did the time of what is over go?
#pragma once

#include "stager/control/message.h"

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

namespace stage {

/// `stagecast status [JOB]` and `stagecast explain JOB`, by `kind`. The exit code.
[[nodiscard]] int run_status(StatusKind kind, std::span<char* const> words);

/// A line or a few of them for each stage and push that is reported.
[[nodiscard]] std::string status_text(const nlohmann::json& report);
[[nodiscard]] std::string explain_text(const nlohmann::json& report);

}  // namespace stage
