// Expands %j, %A, %a, %u and %n in the names of a job's specs.
//
// They have the meaning that they have in sbatch's output file names: the job's id, the
// array's, the array task's, the user's name, and the node's number in the job (0 is the
// first). %% is a percent sign, a number after the percent sign pads with zeros (%4a), and any
// other percent sign is literal. Only nodes know the values, so names travel unexpanded.
#pragma once

#include "stager/spec/stage_spec.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace stage {

/// The values of the patterns on one node.
struct NameValues {
    std::uint32_t job_id = 0;
    std::uint32_t array_job_id = 0;  ///< 0: the job is no array's task.
    std::uint32_t array_task_id = 0;
    std::uint32_t node = 0;
    /// Returns the user's name, or nothing; called only for a %u.
    std::function<std::optional<std::string>()> user{};
};

/// True if `name` has any pattern.
[[nodiscard]] bool has_pattern(std::string_view name);
/// True if `name` has a pattern other than %%, whose value only nodes know.
[[nodiscard]] bool has_value_pattern(std::string_view name);
/// True if `name` has a pattern for an array's tasks.
[[nodiscard]] bool has_array_pattern(std::string_view name);

/// The name that expands to `text`: for a directory that the user did not write.
[[nodiscard]] std::string literal_name(std::string_view text);

/// Expands all names and patterns. Fails (Blame::user) on an %a without an array, and if the
/// result is no valid spec.
[[nodiscard]] Result<StageSpec> expanded(StageSpec spec, const NameValues& values);

/// Fails (Blame::user) on a %n in the source, which one node reads for all, and on a variable
/// in the destination, "$USER" or "${TMPDIR}", which is not expanded.
[[nodiscard]] Status check_patterns(const StageSpec& spec);

/// The variable in `name` that the user may have expected to be expanded, "$USER"; empty: none.
[[nodiscard]] std::string_view variable_in(std::string_view name);

}  // namespace stage
