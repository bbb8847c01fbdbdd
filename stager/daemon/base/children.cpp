#include "stager/daemon/base/children.h"

#include <sys/epoll.h>

namespace stage {

Result<std::unique_ptr<Children>> Children::open(Loop& loop, Spawner spawner, OnLost on_lost) {
    auto children =
        std::make_unique<Children>(Token{}, loop, std::move(spawner), std::move(on_lost));
    const Status watched = loop.watch(children->spawner_.fd(),
                                      EPOLLIN,
                                      [self = children.get()](auto) { self->on_readable(); });
    if (!watched) {
        return watched.error();
    }
    return children;
}

Children::Children(Token /*token*/, Loop& loop, Spawner spawner, OnLost on_lost)
    : loop_{loop}, spawner_{std::move(spawner)}, on_lost_{std::move(on_lost)} {
}

Children::~Children() {
    loop_.forget(spawner_.fd());
}

Result<SpawnId> Children::start(const ProgramRequest& program,
                                const std::vector<int>& fds,
                                OnEvent on_event) {
    auto id = spawner_.start(program, fds);
    if (id) {
        owners_[*id] = std::move(on_event);
    }
    return id;
}

Result<Spawner::RoleHandle> Children::start_role(std::uint32_t role,
                                                 int socket_type,
                                                 OnEvent on_event) {
    auto handle = spawner_.start_role(role, socket_type);
    if (handle) {
        owners_[handle->id] = std::move(on_event);
    }
    return handle;
}

Result<SpawnId> Children::remove_tree(int root, const RemoveRequest& what, OnEvent on_event) {
    auto id = spawner_.remove_tree(root, what);
    if (id) {
        owners_[*id] = std::move(on_event);
    }
    return id;
}

void Children::on_end(SpawnId id, OnEvent on_event) {
    const auto found = owners_.find(id);
    if (found != owners_.end()) {
        found->second = std::move(on_event);
    }
}

void Children::kill(pid_t pid, int signal) {
    if (pid > 0) {
        static_cast<void>(spawner_.kill(pid, signal).ok());
    }
}

void Children::on_readable() {
    const auto events = spawner_.read_events();
    if (!events) {
        loop_.forget(spawner_.fd());
        on_lost_(events.error());
        return;
    }
    for (const SpawnEvent& event : *events) {
        const auto found = owners_.find(event.id);
        if (found == owners_.end()) {
            continue;
        }
        const OnEvent call = found->second;
        if (event.kind != SpawnEvent::Kind::started) {
            owners_.erase(found);
        }
        call(event);
    }
}

}  // namespace stage
