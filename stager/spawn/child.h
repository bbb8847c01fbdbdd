// Prepares a child process between fork and its work.
//
// These functions remove everything that a child must not inherit: descriptors, signal
// settings, terminal, root's privileges. They are called in the child only, which has one
// thread, so that allocation and name look-ups are allowed.
#pragma once

#include "stager/spawn/request.h"
#include "transport/base/result.h"

#include <sys/types.h>

#include <span>
#include <string>

namespace stage {

/// Closes every descriptor from `first` on except `kept` (-1: none).
void close_from(int first, int kept);

/// Starts a new session, resets all signals to their defaults and unblocks them.
void stand_alone();

/// Moves `fds` to 3, 4, ..., opens /dev/null as 0, and closes all others except `kept`, whose
/// new number, close-on-exec, is returned (-1 for -1).
[[nodiscard]] Result<int> arrange_descriptors(std::span<const int> fds, int kept);

/// The name of the user, whose groups are used: the given one if passwd has it for this uid,
/// else the one that passwd has for the uid, or none.
[[nodiscard]] std::string name_of(const UserIdentity& user);

/// Becomes `user` for good, with all groups. After an error the child must exit.
Status become_user(const UserIdentity& user);

/// Lets the child die with its parent, which must be `parent`. Call it after become_user(),
/// which clears the setting.
Status die_with(pid_t parent);

/// Sets limits, cgroup and user, and executes the program; to be called after stand_alone() and
/// arrange_descriptors(). Returns only on an error. `cgroup` is the directory in which
/// program.group is made; empty: no cgroup.
[[nodiscard]] Error run_program(const ProgramRequest& program,
                                const std::string& cgroup,
                                pid_t parent);

}  // namespace stage
