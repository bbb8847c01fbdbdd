// Joins stagecast's reason with what else a job's AdminComment says.
//
// Sites keep words of their own there (a job_submit plugin's, an accounting script's). Parts
// are separated by " ; ", and those that begin with "stagecast: " are stagecast's.
#pragma once

#include <string>
#include <string_view>

namespace stage {

/// The comment `present` with `reason`, which begins with "stagecast: ", behind the parts of
/// others and in place of an earlier reason.
[[nodiscard]] std::string with_reason(std::string_view present, std::string_view reason);

}  // namespace stage
