// Which process has started, failed or ended, and who asked for it?
//
// The spawner's events in the daemon's loop, each to whoever started that child.
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/spawn/spawner.h"

#include <functional>
#include <unordered_map>

namespace stage {

class Children {
    struct Token {};  ///< Only open() and the like make one.

  public:
    using OnEvent = std::function<void(const SpawnEvent&)>;
    using OnLost = std::function<void(const Error&)>;

    /// `on_lost`: the spawner is gone, and with it all children.
    static Result<std::unique_ptr<Children>> open(Loop& loop, Spawner spawner, OnLost on_lost);
    Children(Token token, Loop& loop, Spawner spawner, OnLost on_lost);
    Children(const Children&) = delete;
    Children& operator=(const Children&) = delete;
    ~Children();

    /// As Spawner::start(). `on_event` comes from the loop, the last time with failed or ended.
    Result<SpawnId> start(const ProgramRequest& program,
                          const std::vector<int>& fds,
                          OnEvent on_event);
    Result<Spawner::RoleHandle> start_role(std::uint32_t role,
                                           int socket_type,
                                           OnEvent on_event);
    Result<SpawnId> remove_tree(int root, const RemoveRequest& what, OnEvent on_event);
    /// Somebody else is told of this child from now on; unknown ones are ignored.
    void on_end(SpawnId id, OnEvent on_event);
    /// SIGTERM, SIGKILL to its group; a child that is gone is not an error.
    void kill(pid_t pid, int signal);

    /// For roles whose events nobody needs.
    [[nodiscard]] Spawner& spawner() { return spawner_; }

  private:
    void on_readable();

    Loop& loop_;
    Spawner spawner_;
    OnLost on_lost_;
    std::unordered_map<SpawnId, OnEvent> owners_;
};

}  // namespace stage
