#include "stager/cli/common/commands.h"

#include "transport/os/unique_fd.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

namespace stage {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxOutput = 16U << 20U;
constexpr int kLookMs = 200;
constexpr std::chrono::seconds kGrace{5};

struct Pipe {
    UniqueFd read;
    UniqueFd write;
};

std::optional<Pipe> make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return std::nullopt;
    }
    return Pipe{UniqueFd{ends[0]}, UniqueFd{ends[1]}};
}

/// A running command.
class Child {
  public:
    /// What becomes of it is in `ended`.
    explicit Child(Ended& ended) : ended_{ended} {}

    [[nodiscard]] Status start(const Command& command, bool has_more_input) {
        std::optional<Pipe> in = make_pipe();
        std::optional<Pipe> out = make_pipe();
        std::optional<Pipe> err = make_pipe();
        if (!in || !out || !err) {
            return Error::from_errno(Blame::node, "a pipe to " + command.words.front());
        }
        input_ = command.input;
        has_more_input_ = has_more_input;
        const int failed = spawn(command, in->read.get(), out->write.get(), err->write.get());
        if (failed != 0) {
            pid_ = -1;
            ended_.is_over = true;
            ended_.code = kNotStarted;
            ended_.err =
                Error::from_errno(Blame::node, command.words.front(), failed).sentence();
            return {};
        }
        in_ = std::move(in->write);
        out_ = std::move(out->read);
        err_ = std::move(err->read);
        for (const int fd : {in_.get(), out_.get(), err_.get()}) {
            static_cast<void>(::fcntl(fd, F_SETFL, O_NONBLOCK));
        }
        feed();
        return {};
    }

    [[nodiscard]] bool is_over() const { return pid_ < 0; }

    void add_to(std::vector<pollfd>& polled) const {
        for (const int fd : {out_.get(), err_.get()}) {
            if (fd >= 0) {
                polled.push_back({.fd = fd, .events = POLLIN, .revents = 0});
            }
        }
        if (in_ && !input_.empty()) {
            polled.push_back({.fd = in_.get(), .events = POLLOUT, .revents = 0});
        }
    }

    void end_input(const std::string& last) {
        input_ += last;
        has_more_input_ = false;
        feed();
    }

    void look() {
        feed();
        hear(out_, ended_.out);
        hear(err_, ended_.err);
        int status = 0;
        if (pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) {
            pid_ = -1;
            in_.reset();
            ended_.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
            // Does not wait for a grandchild that keeps the pipes open.
            hear(out_, ended_.out);
            hear(err_, ended_.err);
            out_.reset();
            err_.reset();
            ended_.is_over = true;
        }
    }

    /// Signals the whole process group: a launcher's children are in it.
    void end(int signal) {
        if (pid_ > 0) {
            ended_.was_ended = true;
            static_cast<void>(::kill(-pid_, signal));
        }
    }

  private:
    [[nodiscard]] int spawn(const Command& command, int in, int out, int err) {
        std::vector<std::string> words = command.words;
        std::vector<char*> pointers;
        for (std::string& word : words) {
            pointers.push_back(word.data());
        }
        pointers.push_back(nullptr);
        posix_spawn_file_actions_t actions{};
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
        ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
        ::posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
        posix_spawnattr_t attributes{};
        ::posix_spawnattr_init(&attributes);
        // A process group of its own: Ctrl-C reaches only this command, which then ends the
        // others in order.
        ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
        sigset_t usual{};
        ::sigemptyset(&usual);
        ::sigaddset(&usual, SIGPIPE);
        ::posix_spawnattr_setsigdefault(&attributes, &usual);
        const int failed = ::posix_spawnp(
            &pid_, words.front().c_str(), &actions, &attributes, pointers.data(), environ);
        ::posix_spawnattr_destroy(&attributes);
        ::posix_spawn_file_actions_destroy(&actions);
        return failed;
    }

    void feed() {
        while (in_ && !input_.empty()) {
            const ssize_t count = ::write(in_.get(), input_.data(), input_.size());
            if (count < 0 && errno == EAGAIN) {
                return;
            }
            input_.erase(0, count < 0 ? input_.size() : static_cast<std::size_t>(count));
        }
        if (!has_more_input_) {
            in_.reset();
        }
    }

    static void hear(UniqueFd& fd, std::string& text) {
        std::array<char, 16384> room{};
        while (fd) {
            const ssize_t count = ::read(fd.get(), room.data(), room.size());
            if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
                return;
            }
            if (count <= 0) {
                fd.reset();
                return;
            }
            const auto length = static_cast<std::size_t>(count);
            text.append(room.data(), std::min(length, kMaxOutput - text.size()));
        }
    }

    pid_t pid_ = -1;
    UniqueFd in_;
    UniqueFd out_;
    UniqueFd err_;
    std::string input_;
    bool has_more_input_ = false;
    Ended& ended_;
};

/// Signals the children if there is a signal, waits for them to read, write or end, and serves
/// them.
void turn(std::vector<Child>& children, int signal) {
    std::vector<pollfd> polled;
    for (Child& child : children) {
        if (signal != 0) {
            child.end(signal);
        }
        child.add_to(polled);
    }
    static_cast<void>(::poll(polled.data(), polled.size(), kLookMs));
    std::ranges::for_each(children, &Child::look);
}

/// Decides when the commands must end, and by which signal.
class Ending {
  public:
    explicit Ending(const CommandLimits& limits)
        : limits_{limits}, until_{Clock::now() + limits.longest} {}

    /// The first one has ended, or none of them has anything left to do.
    void begin_to_end() {
        if (limits_.after_first > Duration::zero() && !has_first_) {
            has_first_ = true;
            until_ = std::min<Clock::time_point>(until_, Clock::now() + limits_.after_first);
        }
    }

    /// Returns the signal that is due; 0: none.
    [[nodiscard]] int due() {
        const bool stops = !is_terminated_ && limits_.stops && limits_.stops();
        if (Clock::now() < until_ && !stops) {
            return 0;
        }
        until_ = Clock::now() + kGrace;
        return std::exchange(is_terminated_, true) ? SIGKILL : SIGTERM;
    }

  private:
    const CommandLimits& limits_;
    Clock::time_point until_;
    bool has_first_ = false;
    bool is_terminated_ = false;
};

}  // namespace

Result<std::vector<Ended>> run_commands(const std::vector<Command>& commands,
                                        const CommandLimits& limits) {
    struct sigaction ignored {};
    ignored.sa_handler = SIG_IGN;
    static_cast<void>(::sigaction(SIGPIPE, &ignored, nullptr));
    std::vector<Ended> ended(commands.size());
    std::vector<Child> children{ended.begin(), ended.end()};
    LastInput last_input = limits.last_input;
    Status started;
    for (std::size_t i = 0; started && i < commands.size(); ++i) {
        started = children[i].start(commands[i], last_input != nullptr);
    }
    Ending ending{limits};
    while (!std::ranges::all_of(children, &Child::is_over)) {
        turn(children, started ? ending.due() : SIGKILL);
        const auto last = last_input ? last_input(ended) : std::nullopt;
        if (last) {
            last_input = nullptr;
            std::ranges::for_each(children, [&](Child& child) { child.end_input(*last); });
        }
        if (children.front().is_over() || (last && last->empty())) {
            ending.begin_to_end();
        }
    }
    return started ? Result<std::vector<Ended>>{std::move(ended)} : std::move(started).error();
}

}  // namespace stage
