#include "stager/spawn/spawner_process.h"

#include "stager/spawn/cgroup.h"
#include "stager/spawn/child.h"
#include "stager/spawn/child_work.h"
#include "stager/spawn/event.h"
#include "transport/os/descriptors.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <iterator>
#include <map>

namespace stage {
namespace {

/// Turns of 50 ms for which the end waits for killed processes, and for their orphans.
constexpr int kOrphanSlices = 20;
/// Children at one time: a limit for a runaway daemon, far above what jobs need.
constexpr std::size_t kChildrenMax = 4096;

struct Child {
    SpawnId id = 0;
    UniqueFd report;  ///< Readable end; open until exec, or until the child's last sentence.
    std::string sentence;                            ///< What was read from it.
    std::string group;                               ///< Its sub-cgroup.
    bool announced = false;                          ///< The daemon knows that it runs.
    std::chrono::steady_clock::time_point start_by;  ///< When it must have been executed.
};

/// Lists the processes whose parent this subreaper is: those that it forked, and orphans of its
/// descendants. Empty if the kernel has no list (CONFIG_PROC_CHILDREN).
std::vector<pid_t> own_children() {
    std::ifstream list{"/proc/self/task/" + std::to_string(::getpid()) + "/children"};
    return {std::istream_iterator<pid_t>{list}, std::istream_iterator<pid_t>{}};
}

class SpawnerProcess {
  public:
    SpawnerProcess(UniqueFd daemon, UniqueFd signals, SpawnerSetup setup)
        : daemon_{std::move(daemon)}, signals_{std::move(signals)}, setup_{std::move(setup)} {}

    void run() {
        while (alive_) {
            wait_and_serve(poll_timeout());
            end_late_starts();
        }
        end_children();
    }

  private:
    void wait_and_serve(int timeout_ms);
    [[nodiscard]] int poll_timeout() const;
    void end_late_starts();
    void on_request();
    void act(const NumberedRequest& numbered, const std::vector<UniqueFd>& fds);
    void act(SpawnId id, const ProgramRequest& program, const std::vector<UniqueFd>& fds);
    void act(SpawnId id, const RoleRequest& role, const std::vector<UniqueFd>& fds);
    void act(SpawnId id, const RemoveRequest& remove, const std::vector<UniqueFd>& fds);
    void act(SpawnId id, const KillRequest& kill, const std::vector<UniqueFd>& fds);
    template <class Work>
    void fork_child(Child child, Work work);
    void on_report(pid_t pid, Child& child);
    void reap();
    void on_end(pid_t pid, int status);
    std::size_t end_orphans() const;
    void leave_group(const Child& child);
    void end_children();
    void signal_children(int signal) const;
    void fail(SpawnId id, const std::string& sentence);
    void tell(const SpawnEvent& event);

    UniqueFd daemon_;
    UniqueFd signals_;
    SpawnerSetup setup_;
    std::map<pid_t, Child> children_;
    bool alive_ = true;
};

void SpawnerProcess::wait_and_serve(int timeout_ms) {
    std::vector<pollfd> polled{
        {.fd = daemon_ ? daemon_.get() : -1, .events = POLLIN, .revents = 0},
        {.fd = signals_.get(), .events = POLLIN, .revents = 0}};
    std::vector<pid_t> reporters;
    for (const auto& [pid, child] : children_) {
        if (child.report) {
            polled.push_back({.fd = child.report.get(), .events = POLLIN, .revents = 0});
            reporters.push_back(pid);
        }
    }
    if (::poll(polled.data(), polled.size(), timeout_ms) < 0) {
        return;  // a signal; nothing else can fail here
    }
    for (std::size_t i = 0; i < reporters.size(); ++i) {
        if (polled[i + 2].revents != 0) {
            on_report(reporters[i], children_[reporters[i]]);
        }
    }
    if (polled[1].revents != 0) {
        signalfd_siginfo info{};
        [[maybe_unused]] const auto got = ::read(signals_.get(), &info, sizeof info);
        reap();
    }
    if (polled[0].revents != 0) {
        on_request();
    }
}

void SpawnerProcess::on_request() {
    const auto received =
        receive_with_descriptors(daemon_.get(), kSpawnRequestMax, kSpawnFdsMax);
    if (!received || received->ended || received->is_cut) {
        alive_ = false;
        return;
    }
    const auto numbered = decode_spawn_request(received->message);
    if (!numbered) {
        alive_ = false;  // The other end is not the daemon any more.
        return;
    }
    act(*numbered, received->fds);
}

void SpawnerProcess::act(const NumberedRequest& numbered, const std::vector<UniqueFd>& fds) {
    std::visit([&](const auto& request) { act(numbered.id, request, fds); }, numbered.request);
}

/// How long poll() may wait, milliseconds: a second while some child is not executed yet.
int SpawnerProcess::poll_timeout() const {
    constexpr int kSecond = 1000;
    const bool starting =
        std::any_of(children_.begin(), children_.end(), [](const auto& entry) {
            return !entry.second.announced;
        });
    return starting ? kSecond : -1;
}

/// A child that hangs before exec waits for a directory service; the daemon can't kill it,
/// because it does not know its pid.
void SpawnerProcess::end_late_starts() {
    const auto now = std::chrono::steady_clock::now();
    for (auto& [pid, child] : children_) {
        if (!child.announced && child.sentence.empty() && now >= child.start_by) {
            child.sentence =
                "looking up the user's groups took too long; does the directory "
                "service (sssd, LDAP) answer?";
            static_cast<void>(::kill(pid, SIGKILL));
        }
    }
}

/// Forks, and the child does `work(report)`; an error is written to the report and ends it.
template <class Work>
void SpawnerProcess::fork_child(Child child, Work work) {
    std::array<int, 2> pipe{-1, -1};
    if (children_.size() >= kChildrenMax || ::pipe2(pipe.data(), O_CLOEXEC) != 0) {
        fail(child.id, "this node has too many processes or open files");
        return;
    }
    child.report.reset(pipe[0]);
    child.start_by = std::chrono::steady_clock::now() + kSpawnerStartMax;
    UniqueFd report{pipe[1]};
    const pid_t pid = ::fork();
    if (pid == 0) {
        stand_alone();
        ::_exit(work(report.get()));
    }
    if (pid < 0) {
        fail(child.id, Error::from_errno(Blame::node, "forking").sentence());
        return;
    }
    const bool announce = child.announced;
    const SpawnId id = child.id;
    children_.insert_or_assign(pid, std::move(child));
    if (announce) {
        tell({.kind = SpawnEvent::Kind::started,
              .id = id,
              .pid = pid,
              .status = 0,
              .sentence = {}});
    }
}

void SpawnerProcess::act(SpawnId id,
                         const ProgramRequest& program,
                         const std::vector<UniqueFd>& fds) {
    const pid_t self = ::getpid();
    Child child;
    child.id = id;
    child.group = setup_.cgroup.empty() ? std::string{} : program.group;
    fork_child(std::move(child), [&](int report) {
        return do_program(program, fds, {setup_.cgroup, self, report});
    });
}

void SpawnerProcess::act(SpawnId id,
                         const RoleRequest& role,
                         const std::vector<UniqueFd>& fds) {
    if (role.role >= setup_.roles.size() || fds.size() != 1) {
        fail(id, "there is no such role");
        return;
    }
    const pid_t self = ::getpid();
    Child child;
    child.id = id;
    child.announced = true;
    fork_child(std::move(child), [&](int report) {
        return do_role(setup_.roles[role.role], fds, {setup_.cgroup, self, report});
    });
}

void SpawnerProcess::act(SpawnId id,
                         const RemoveRequest& remove,
                         const std::vector<UniqueFd>& fds) {
    if (fds.size() != 1) {
        fail(id, "a removal needs one directory to begin from");
        return;
    }
    const pid_t self = ::getpid();
    Child child;
    child.id = id;
    child.announced = true;
    fork_child(std::move(child), [&](int report) {
        return do_removal(remove, fds, {setup_.cgroup, self, report});
    });
}

void SpawnerProcess::act(SpawnId id,
                         const KillRequest& kill,
                         const std::vector<UniqueFd>& fds) {
    static_cast<void>(id);
    static_cast<void>(fds);
    const auto found = children_.find(kill.pid);
    if (found == children_.end()) {
        return;
    }
    // The child leads a group of its own from its first moment on; not before.
    if (::kill(-kill.pid, kill.signal) != 0) {
        static_cast<void>(::kill(kill.pid, kill.signal));
    }
}

/// Reads what the child has written to the pipe; the pipe's end is the exec, or the child's
/// end.
void SpawnerProcess::on_report(pid_t pid, Child& child) {
    std::array<char, kSpawnSentenceMax> text{};
    const ssize_t got = ::read(child.report.get(), text.data(), text.size());
    if (got > 0) {
        child.sentence.append(text.data(), static_cast<std::size_t>(got));
        return;
    }
    child.report.reset();
    if (!child.announced && child.sentence.empty()) {
        child.announced = true;
        tell({.kind = SpawnEvent::Kind::started,
              .id = child.id,
              .pid = pid,
              .status = 0,
              .sentence = {}});
    }
}

void SpawnerProcess::reap() {
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        on_end(pid, status);
    }
    end_orphans();
}

/// Children that the spawner has not started are orphans of its children, and are killed. The
/// end of each leads back here, with the orphans that it left in turn.
std::size_t SpawnerProcess::end_orphans() const {
    std::size_t count = 0;
    for (const pid_t pid : own_children()) {
        if (children_.count(pid) == 0) {
            static_cast<void>(::kill(pid, SIGKILL));
            ++count;
        }
    }
    return count;
}

void SpawnerProcess::on_end(pid_t pid, int status) {
    const auto found = children_.find(pid);
    if (found == children_.end()) {
        return;
    }
    Child& child = found->second;
    for (pollfd ready{}; child.report;) {
        ready = {.fd = child.report.get(), .events = POLLIN, .revents = 0};
        if (::poll(&ready, 1, 0) <= 0) {
            break;  // A process that it forked holds the other end: the sentence is complete.
        }
        on_report(pid, child);
    }
    const bool ran = child.announced;
    tell({.kind = ran ? SpawnEvent::Kind::ended : SpawnEvent::Kind::failed,
          .id = child.id,
          .pid = pid,
          .status = status,
          .sentence = child.sentence});
    const Child gone = std::move(child);
    children_.erase(found);
    leave_group(gone);
}

void SpawnerProcess::leave_group(const Child& child) {
    const bool shared = std::any_of(children_.begin(), children_.end(), [&](const auto& other) {
        return other.second.group == child.group;
    });
    if (!child.group.empty() && !shared) {
        end_cgroup(setup_.cgroup, child.group);
    }
}

/// The daemon has ended. Children with a control socket notice by themselves; the others get a
/// signal. Removals end, too: the next daemon's sweep removes the rest, and of two removals at
/// one time neither could see what the other's list has in use.
void SpawnerProcess::end_children() {
    daemon_.reset();
    constexpr int kSlice = 50;
    signal_children(SIGTERM);
    for (int left = static_cast<int>(std::chrono::milliseconds{kSpawnerGrace}.count());
         left > 0 && !children_.empty();
         left -= kSlice) {
        wait_and_serve(kSlice);
    }
    signal_children(SIGKILL);
    for (int left = kOrphanSlices; left > 0 && (!children_.empty() || end_orphans() > 0);
         --left) {
        wait_and_serve(kSlice);
    }
}

void SpawnerProcess::signal_children(int signal) const {
    for (const auto& [pid, child] : children_) {
        static_cast<void>(::kill(-pid, signal));
    }
}

void SpawnerProcess::fail(SpawnId id, const std::string& sentence) {
    tell({.kind = SpawnEvent::Kind::failed,
          .id = id,
          .pid = -1,
          .status = 0,
          .sentence = sentence});
}

void SpawnerProcess::tell(const SpawnEvent& event) {
    if (!daemon_) {
        return;
    }
    const std::vector<std::byte> message = encode_event(event);
    // Blocks if the daemon does not read: then nothing here is urgent, either.
    if (::send(daemon_.get(), message.data(), message.size(), MSG_NOSIGNAL) < 0) {
        alive_ = false;
    }
}

}  // namespace

void run_spawner(UniqueFd daemon, SpawnerSetup setup) {
    static_cast<void>(::prctl(PR_SET_NAME, "stagecast-spawn", 0, 0, 0));
    static_cast<void>(::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
    static_cast<void>(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
    close_from(STDERR_FILENO + 1, daemon.get());
    // A terminal's ^C or a service manager's SIGTERM is for the daemon to handle.
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) {
        struct sigaction ignored {};
        ignored.sa_handler = SIG_IGN;
        static_cast<void>(::sigaction(number, &ignored, nullptr));
    }
    sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    static_cast<void>(::sigaction(SIGCHLD, &standard, nullptr));
    static_cast<void>(::pthread_sigmask(SIG_SETMASK, &child, nullptr));
    UniqueFd signals{::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK)};
    if (signals) {
        SpawnerProcess{std::move(daemon), std::move(signals), std::move(setup)}.run();
    }
    ::_exit(0);
}

}  // namespace stage
