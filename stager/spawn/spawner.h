// Starts all processes that work for jobs, from a process without the daemon's secrets.
//
// The spawner is a small process of one thread, forked first thing in main, before the daemon
// has a descriptor, a key or a thread that a child could inherit. The daemon sends it requests
// over a SOCK_SEQPACKET pair (spawn/request.h) and receives starts, failures and ends as
// events. If the daemon dies the spawner ends its children and itself; if the spawner dies its
// children die with it.
//
//     Result<Spawner> spawner = Spawner::fork({.roles = {run_munge, run_query}});   // in main
//     epoll: EPOLLIN on spawner->fd() -> for (SpawnEvent& event : spawner->read_events()) ...
//
// Nothing here blocks; if the socket to the spawner is full, a request fails.
#pragma once

#include "stager/spawn/request.h"
#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stage {

/// A role is a function of this program that runs in a child of the spawner without exec: with
/// its socket as descriptor 3, as root, with stdin from /dev/null. Its result is the exit
/// status. Roles are set before the fork, so they capture only what main knew by then; a role
/// may call exit().
using SpawnRole = std::function<int(int fd)>;

struct SpawnerSetup {
    std::vector<SpawnRole> roles;
    /// The directory in which a sub-cgroup per `group` is made: of cgroup v2 and writable;
    /// empty: none. See own_cgroup().
    std::string cgroup;
};

/// The cgroup v2 directory of this process if it may have children there, else empty. Not
/// tested on a real cgroup v2 machine yet: the machines on which stagecast is built have v1.
[[nodiscard]] std::string own_cgroup();

/// Names a request in its events.
using SpawnId = std::uint32_t;

struct SpawnEvent {
    enum class Kind : unsigned char {
        started,  ///< exec has succeeded (or the role, or the removal, runs) as `pid`.
        failed,   ///< The child never ran; `sentence` says why. No further event follows.
        ended,    ///< The child ended and is reaped: `status`, and `sentence` if it wrote one.
    };
    Kind kind = Kind::failed;
    SpawnId id = 0;
    pid_t pid = -1;
    int status = 0;  ///< The status that waitpid() gave.
    std::string
        sentence;  ///< failed: why. ended, of a removal: what was not removed, or empty.

    /// "exit status 1", "killed by SIGKILL".
    [[nodiscard]] std::string status_text() const;
};

/// The daemon's handle of its spawner.
class Spawner {
  public:
    /// Forks it. The caller must have one thread and no open descriptors except 0, 1, 2.
    static Result<Spawner> fork(SpawnerSetup setup);

    [[nodiscard]] int fd() const { return socket_.get(); }
    [[nodiscard]] pid_t pid() const { return pid_; }

    /// Starts a program. `fds` become its descriptors 3, 4, 5, ... in order; they are borrowed
    /// for the call only. With `program.user` it runs as that user with all groups; without, as
    /// root.
    Result<SpawnId> start(const ProgramRequest& program, const std::vector<int>& fds);

    struct RoleHandle {
        SpawnId id = 0;
        UniqueFd socket;  ///< The daemon's end, SOCK_SEQPACKET or SOCK_STREAM, nonblocking.
    };
    /// Runs role number `role` with one end of a new socket pair as descriptor 3.
    Result<RoleHandle> start_role(std::uint32_t role, int socket_type);

    /// Removes a job's directory below `root` (an open directory, borrowed for the call): first
    /// its content as the user, then the rest and the directory itself as root. Never follows a
    /// symbolic link, never crosses a mount, never leaves `root`. A missing directory is no
    /// error.
    Result<SpawnId> remove_tree(int root, const RemoveRequest& what);

    /// Sends `signal` to the whole process group of a child that was `started` and has not
    /// `ended`. Any other pid is ignored, so that no unrelated process is ever signalled.
    Status kill(pid_t pid, int signal);

    /// The events since the last call, in order. An error means that the spawner has ended, and
    /// all children with it; the daemon should end, too.
    Result<std::vector<SpawnEvent>> read_events();

  private:
    Spawner(UniqueFd socket, pid_t pid) : socket_{std::move(socket)}, pid_{pid} {}

    Result<SpawnId> request(const SpawnRequest& request, std::span<const int> fds);

    UniqueFd socket_;
    pid_t pid_;
    SpawnId last_id_ = 0;
};

}  // namespace stage
