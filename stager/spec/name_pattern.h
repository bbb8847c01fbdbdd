// Expands %j, %A, %a, %u and %n in the names of a job's specs.
//
// They mean what they mean in sbatch's names of output files: the job's id, its array's, the
// array task's, the user's name, and the node's number in the job (0 is the first). %% is a
// percent sign, a number behind the percent pads with zeros (%4a), and any other percent sign
// is itself. Only nodes know the values, so names travel as they were written.
#pragma once

#include "stager/spec/stage_spec.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace stage {

/// What stands for what, on one node.
struct NameValues {
    std::uint32_t job_id = 0;
    std::uint32_t array_job_id = 0;  ///< 0: the job is no array's task.
    std::uint32_t array_task_id = 0;
    std::uint32_t node = 0;
    /// Asked only for a %u. The name of a user, or nothing.
    std::function<std::optional<std::string>()> user{};
};

/// Something in it would be expanded.
[[nodiscard]] bool has_pattern(std::string_view name);
/// To what only nodes know, so to more than a percent sign.
[[nodiscard]] bool has_value_pattern(std::string_view name);
/// Of one that only an array's tasks know, too.
[[nodiscard]] bool has_array_pattern(std::string_view name);

/// Both names with their values. Fails (Blame::user) on an %a where there is no array, and on
/// what is no spec any more.
[[nodiscard]] Result<StageSpec> expanded(StageSpec spec, const NameValues& values);

/// Fails (Blame::user) on a %n in the source, which one node reads for all, and on a variable
/// in the destination, "$USER" or "${TMPDIR}": nothing expands that.
[[nodiscard]] Status check_patterns(const StageSpec& spec);

/// The variable in `name` that somebody may have meant to be expanded, "$USER"; empty: none.
[[nodiscard]] std::string_view variable_in(std::string_view name);

}  // namespace stage
