// Encodes the daemon's requests to its spawner.
//
// Both ends are this program, but the spawner is root and parses its input with the same care
// as any other: with limits, checked, and refused as a whole.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace stage {

/// The user that a child becomes.
struct UserIdentity {
    uid_t uid = static_cast<uid_t>(-1);
    gid_t gid = static_cast<gid_t>(-1);  ///< The default: passwd's, and then `uid` is in it.
    /// For initgroups(); empty: looked up by uid in the child. A uid that is not in passwd gets
    /// only `gid`, any other the groups of that name, passwd's among them.
    std::string name;
    bool operator==(const UserIdentity&) const = default;
};

/// A program to execute. It gets a session of its own, stdin, stdout and stderr from /dev/null,
/// the working directory /, no core dumps, 64 KiB of locked memory, 1.5 GiB of private memory
/// (RLIMIT_DATA), default signals, no_new_privs if it has a user, and no open descriptors
/// except those named. Processes that it leaves behind when it ends, in whichever session, are
/// killed. (exec makes a process dumpable again unless its user can't read the program: so it
/// is installed 0711, and calls prctl(PR_SET_DUMPABLE, 0) first thing in main, too.)
struct ProgramRequest {
    std::string path;                      ///< Absolute.
    std::vector<std::string> arguments;    ///< argv, argv[0] first.
    std::vector<std::string> environment;  ///< NAME=VALUE, the complete environment.
    std::optional<UserIdentity> user;      ///< None: it stays root (a spare PMIx host).
    mode_t umask = 077;
    int oom_score_adj = 0;  ///< -1000 to 1000; the kernel should kill workers before slurmd.
    std::string group;      ///< Sub-cgroup, such as "stage-42"; empty: none. No '/'.
    /// The last descriptor becomes its stdout and stderr. Never pass the daemon's own, to which
    /// a user's process could write lines in the daemon's name.
    bool has_output = false;
    bool operator==(const ProgramRequest&) const = default;
};

/// Removes a stage's files: the stage's directory, as names below an open StageRoot, {"42"} or
/// {"42", "step.0"}, and what the cleanup lists of `user` for it name (cleanup_lists.h).
struct RemoveRequest {
    std::vector<std::string> path;
    UserIdentity user;
    bool has_directory = true;  ///< The directory is removed.
    bool has_lists = true;      ///< The lists are followed.
    bool operator==(const RemoveRequest&) const = default;
};

struct RoleRequest {
    std::uint32_t role = 0;
    bool operator==(const RoleRequest&) const = default;
};

struct KillRequest {
    pid_t pid = -1;
    int signal = 0;
    bool operator==(const KillRequest&) const = default;
};

using SpawnRequest = std::variant<ProgramRequest, RoleRequest, RemoveRequest, KillRequest>;

/// Longest request; a program with more arguments and environment is refused.
inline constexpr std::size_t kSpawnRequestMax = 128U << 10U;
/// Most descriptors that are passed to one child.
inline constexpr std::size_t kSpawnFdsMax = 41;

[[nodiscard]] std::vector<std::byte> encode_spawn_request(std::uint32_t id,
                                                          const SpawnRequest& request);

struct NumberedRequest {
    std::uint32_t id = 0;
    SpawnRequest request;
};
/// Fails unless `message` is exactly one request whose values are within their limits.
[[nodiscard]] Result<NumberedRequest> decode_spawn_request(Bytes message);

}  // namespace stage
