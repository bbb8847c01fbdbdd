// Finds the jobs that have a step on this node, without asking slurmctld.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace stage {

/// The job of a slurmstepd, by its command line "slurmstepd: [12.0]"; nothing for another one.
[[nodiscard]] std::optional<std::uint32_t> job_of_stepd(std::string_view command_line);

/// Whether /proc/PID/status describes a slurmstepd all of whose uids are root's. It must be
/// read before the command line: reading the command line of a user's process can be made to
/// block for ever. The owner of the process' files below /proc proves nothing (root owns those
/// of a process that is not dumpable).
[[nodiscard]] bool is_roots_stepd(std::string_view status);

/// The jobs of all root's slurmstepds below `proc`. A job that is missing may still be running:
/// it need not have a step on this node.
[[nodiscard]] std::set<std::uint32_t> jobs_with_steps(const std::string& proc = "/proc");

}  // namespace stage
