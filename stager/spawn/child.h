// What becomes of a process between fork and its work?
//
// Everything that a child must not have from its parent is taken off here: descriptors,
// signals, terminal, root. Called in the child only; single-threaded, so that allocation and
// name look-ups are allowed.
#pragma once

#include "stager/spawn/request.h"
#include "transport/base/result.h"

#include <sys/types.h>

#include <span>
#include <string>

namespace stage {

/// Closes every descriptor from `first` on but `kept` (-1: none).
void close_from(int first, int kept);

/// A session of its own, signals at their defaults, none blocked.
void stand_alone();

/// Places `fds` at 3, 4, ..., /dev/null at 0, and closes all others but `kept`, whose new
/// number, close-on-exec, is returned (-1 for -1).
[[nodiscard]] Result<int> arrange_descriptors(std::span<const int> fds, int kept);

/// Takes on `user` for good, with all groups. Fails without leaving a choice but to exit.
Status become_user(const UserIdentity& user);

/// Dies with the parent, which must still be `parent`. After become_user(): that clears it.
Status die_with(pid_t parent);

/// Limits, cgroup, user, exec, after stand_alone() and arrange_descriptors(). Returns only why
/// it could not. `cgroup` is where program.group's directory is made, empty for none.
[[nodiscard]] Error run_program(const ProgramRequest& program,
                                const std::string& cgroup,
                                pid_t parent);

}  // namespace stage
