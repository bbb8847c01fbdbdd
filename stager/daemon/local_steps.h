// Finds the jobs that have a step on this node, without asking slurmctld.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace stage {

/// The job of a process whose command line is slurmstepd's, "slurmstepd: [12.0]"; else nothing.
[[nodiscard]] std::optional<std::uint32_t> job_of_stepd(std::string_view command_line);

/// Those of all processes of root's below `proc`; anybody else may call himself what he likes.
/// A job that is missing may run all the same: it need not have a step here.
[[nodiscard]] std::set<std::uint32_t> jobs_with_steps(const std::string& proc = "/proc");

}  // namespace stage
