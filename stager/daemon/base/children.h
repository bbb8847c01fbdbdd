// Delivers the spawner's events on child processes to the parts that started them.
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/spawn/spawner.h"

#include <functional>
#include <unordered_map>

namespace stage {

/// The spawner's roles, by number.
inline constexpr std::uint32_t kRoleMunge = 0;
inline constexpr std::uint32_t kRoleSlurmQuery = 1;
inline constexpr std::uint32_t kRoleCacheCopier = 2;
inline constexpr std::uint32_t kRoleClosing = 3;

class Children {
    struct Token {};  ///< Only open() and the like make one.

  public:
    using OnEvent = std::function<void(const SpawnEvent&)>;
    using OnLost = std::function<void(const Error&)>;

    /// `on_lost` is called when the spawner has ended, and all children with it.
    static Result<std::unique_ptr<Children>> open(Loop& loop, Spawner spawner, OnLost on_lost);
    Children(Token token, Loop& loop, Spawner spawner, OnLost on_lost);
    Children(const Children&) = delete;
    Children& operator=(const Children&) = delete;
    ~Children();

    /// Does what Spawner::start() does. The loop calls `on_event`; the last is failed or ended.
    Result<SpawnId> start(const ProgramRequest& program,
                          const std::vector<int>& fds,
                          OnEvent on_event);
    Result<Spawner::RoleHandle> start_role(std::uint32_t role,
                                           int socket_type,
                                           OnEvent on_event);
    Result<SpawnId> remove_tree(int root, const RemoveRequest& what, OnEvent on_event);
    /// From now on `on_event` receives the events of this child; unknown ids are ignored.
    void on_end(SpawnId id, OnEvent on_event);
    /// Sends SIGTERM or SIGKILL to the child's group; a child that has ended is no error.
    void kill(pid_t pid, int signal);

    /// For roles whose events are not needed.
    [[nodiscard]] Spawner& spawner() { return spawner_; }

  private:
    void on_readable();

    Loop& loop_;
    Spawner spawner_;
    OnLost on_lost_;
    std::unordered_map<SpawnId, OnEvent> owners_;
};

}  // namespace stage
