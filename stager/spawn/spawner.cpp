#include "stager/spawn/spawner.h"

#include "stager/spawn/event.h"
#include "stager/spawn/spawner_process.h"
#include "transport/os/descriptors.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace stage {
namespace {

/// Events taken per call, so that the loop can do other work.
constexpr int kEventsAtOnce = 256;

struct Pair {
    UniqueFd ours;
    UniqueFd theirs;
};

Result<Pair> new_pair(int type) {
    std::array<int, 2> ends{-1, -1};
    if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return Error::from_errno(Blame::node, "making a pair of sockets");
    }
    return Pair{.ours = UniqueFd{ends[0]}, .theirs = UniqueFd{ends[1]}};
}

}  // namespace

Result<Spawner> Spawner::fork(SpawnerSetup setup) {
    TRY(auto pair, new_pair(SOCK_SEQPACKET));
    const pid_t pid = ::fork();
    if (pid < 0) {
        return Error::from_errno(Blame::node, "forking the spawner");
    }
    if (pid == 0) {
        pair.ours.reset();
        run_spawner(std::move(pair.theirs), std::move(setup));
    }
    return Spawner{std::move(pair.ours), pid};
}

Result<SpawnId> Spawner::request(const SpawnRequest& request, std::span<const int> fds) {
    const SpawnId id = ++last_id_;
    const std::vector<std::byte> message = encode_spawn_request(id, request);
    if (message.size() > kSpawnRequestMax || fds.size() > kSpawnFdsMax) {
        return Error{Blame::user, "arguments and environment of a process are too long"};
    }
    const Status sent = send_with_descriptors(socket_.get(), message, fds);
    if (!sent) {
        return sent.error().within("asking the spawner");
    }
    return id;
}

Result<SpawnId> Spawner::start(const ProgramRequest& program, const std::vector<int>& fds) {
    return request(program, fds);
}

Result<Spawner::RoleHandle> Spawner::start_role(std::uint32_t role, int socket_type) {
    TRY(auto pair, new_pair(socket_type));
    TRY(set_nonblocking(pair.ours.get()));
    const std::array fds{pair.theirs.get()};
    TRY(const auto id, request(RoleRequest{.role = role}, fds));
    return RoleHandle{.id = id, .socket = std::move(pair.ours)};
}

Result<SpawnId> Spawner::remove_tree(int root, const RemoveRequest& what) {
    const std::array fds{root};
    return request(what, fds);
}

Status Spawner::kill(pid_t pid, int signal) {
    const auto id = request(KillRequest{.pid = pid, .signal = signal}, {});
    return id ? Status{} : Status{id.error()};
}

Result<std::vector<SpawnEvent>> Spawner::read_events() {
    std::vector<SpawnEvent> events;
    std::array<std::byte, 2 * kSpawnSentenceMax> message{};
    for (int i = 0; i < kEventsAtOnce; ++i) {
        const ssize_t got = ::recv(socket_.get(), message.data(), message.size(), MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && errno == EAGAIN) {
            break;
        }
        if (got <= 0) {
            return Error{Blame::internal,
                         "the spawner has ended, and the jobs' processes with it"};
        }
        TRY(auto event, decode_event(Bytes{message}.first(static_cast<std::size_t>(got))));
        events.push_back(std::move(event));
    }
    return events;
}

}  // namespace stage
