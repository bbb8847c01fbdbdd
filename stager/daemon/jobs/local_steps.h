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

/// Whether /proc/PID/status tells of a slurmstepd all of whose uids are root's. It is asked
/// first: whoever reads the command line of a user's process can be made to wait for ever, and
/// the owner of its files below /proc proves nothing (a process that is not dumpable has
/// root's).
[[nodiscard]] bool is_roots_stepd(std::string_view status);

/// Those of all processes of root's below `proc`.
/// A job that is missing may run all the same: it need not have a step here.
[[nodiscard]] std::set<std::uint32_t> jobs_with_steps(const std::string& proc = "/proc");

}  // namespace stage
