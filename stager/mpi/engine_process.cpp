#include "stager/mpi/engine_process.h"

#include "transport/os/installation.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

namespace stage {
namespace {

/// Above the descriptors that the new process gets.
constexpr int kDescriptorFrom = 10;
constexpr std::chrono::milliseconds kStep{5};
constexpr int kStepsToEnd = 2000;
constexpr int kStepsKilled = 200;

std::string program() {
    const char* named = ::secure_getenv("STAGECAST_WORKER");  // NOLINT(concurrency-mt-unsafe)
    return named != nullptr && *named != '\0' ? named : worker_path();
}

/// The attributes and actions of posix_spawn(3).
class SpawnPlan {
  public:
    explicit SpawnPlan(int socket) {
        ::posix_spawn_file_actions_init(&actions_);
        ::posix_spawnattr_init(&attributes_);
        ::posix_spawn_file_actions_adddup2(&actions_, socket, kCallFd);
        for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) {
            ::posix_spawn_file_actions_addopen(&actions_, fd, "/dev/null", O_RDWR, 0);
        }
        sigset_t all{};
        sigset_t none{};
        sigfillset(&all);
        sigemptyset(&none);
        ::posix_spawnattr_setsigdefault(&attributes_, &all);
        ::posix_spawnattr_setsigmask(&attributes_, &none);
        // What ends the ranks of a program kills their process groups. The worker has its own:
        // it removes its temporary files when its rank has ended.
        ::posix_spawnattr_setpgroup(&attributes_, 0);
        ::posix_spawnattr_setflags(
            &attributes_,
            POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    }
    SpawnPlan(const SpawnPlan&) = delete;
    SpawnPlan& operator=(const SpawnPlan&) = delete;
    ~SpawnPlan() {
        ::posix_spawn_file_actions_destroy(&actions_);
        ::posix_spawnattr_destroy(&attributes_);
    }

    /// Returns an errno value, or 0.
    [[nodiscard]] int start(const std::string& path, pid_t& process) const {
        std::string name = path;
        std::string argument = kCallArgument;
        const std::array<char*, 3> arguments{name.data(), argument.data(), nullptr};
        return ::posix_spawn(
            &process, path.c_str(), &actions_, &attributes_, arguments.data(), environ);
    }

  private:
    posix_spawn_file_actions_t actions_{};
    posix_spawnattr_t attributes_{};
};

/// Its status as of waitpid(2); nothing if it has not ended in time, or another part of the
/// process has waited for it.
std::optional<int> await_end(pid_t process, int steps) {
    int status = 0;
    for (int step = 0; step < steps; ++step) {
        const pid_t got = ::waitpid(process, &status, WNOHANG);
        if (got == process) {
            return status;
        }
        if (got < 0 && errno != EINTR) {
            return std::nullopt;
        }
        std::this_thread::sleep_for(kStep);
    }
    if (steps == kStepsToEnd) {
        static_cast<void>(::kill(process, SIGKILL));
        return await_end(process, kStepsKilled);
    }
    return std::nullopt;
}

/// Why there is no process, with what helps against that; otherwise with `advice`, if any.
Error start_error(const std::string& doing, int cause, std::string_view advice) {
    if (cause == EAGAIN) {  // RLIMIT_NPROC, or the cgroup's limit.
        advice = "you have too many processes here: end some, or raise the limit (ulimit -u)";
    } else if (cause == ENOMEM || cause == ENOBUFS) {
        advice = "this node lacks memory: free some, or use another node";
    } else if (cause == EMFILE) {
        advice = "this process has too many files open: raise the limit (ulimit -n)";
    } else if (cause == ENFILE) {
        advice = "too many files are open on this node: tell the administrator";
    }
    Error failed = Error::from_errno(Blame::node, doing, cause);
    return advice.empty() ? failed : std::move(failed).remedy(advice);
}

}  // namespace

Result<EngineProcess> EngineProcess::start() {
    std::array<int, 2> pair{-1, -1};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) {
        return start_error("a socket for stagecast-worker", errno, {});
    }
    UniqueFd own{pair[0]};
    const UniqueFd low{pair[1]};
    const UniqueFd theirs{::fcntl(low.get(), F_DUPFD_CLOEXEC, kDescriptorFrom)};
    if (!theirs) {
        return start_error("a socket for stagecast-worker", errno, {});
    }
    const std::string path = program();
    pid_t process = -1;
    if (const int cause = SpawnPlan{theirs.get()}.start(path, process); cause != 0) {
        return start_error("starting " + path,
                           cause,
                           "install stagecast on this node, or set STAGECAST_WORKER");
    }
    return EngineProcess{std::move(own), process};
}

EngineProcess::EngineProcess(EngineProcess&& other) noexcept
    : socket_{std::move(other.socket_)}, process_{std::exchange(other.process_, -1)} {
}

EngineProcess::~EngineProcess() {
    socket_.reset();
    if (process_ > 0) {
        static_cast<void>(await_end(process_, kStepsToEnd));
    }
}

void EngineProcess::say(const CallMessage& message) const {
    static_cast<void>(send_call(socket_.get(), message));
}

CallMessage EngineProcess::hear() {
    Result<CallMessage> message = receive_call(socket_.get());
    if (message) {
        return *std::move(message);
    }
    CallEnd end;
    end.why =
        message.error().cause() == ECONNRESET ? how_it_ended() : message.error().sentence();
    return end;
}

std::string EngineProcess::how_it_ended() {
    const std::optional<int> status = await_end(std::exchange(process_, -1), kStepsToEnd);
    std::string text = "stagecast-worker ended";
    if (status && WIFSIGNALED(*status)) {
        const char* name = ::sigabbrev_np(WTERMSIG(*status));
        text += std::string{" by SIG"} + (name == nullptr ? "?" : name);
    } else if (status) {
        text += " with exit code " + std::to_string(WEXITSTATUS(*status)) +
                "; is it of the same release as libstagecast-mpi?";
    }
    return text;
}

}  // namespace stage
