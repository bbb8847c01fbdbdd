#include "spank/host/apart.h"

#include "stager/control/message.h"
#include "transport/os/unique_fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>

namespace stage {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
    UniqueFd read_end;
    UniqueFd write_end;
};

/// Neither end gets descriptor 0, 1 or 2, which may be closed in a prolog.
Result<Pipe> make_pipe() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return Error::from_errno(Blame::node, "making a pipe");
    }
    Pipe made{UniqueFd{ends[0]}, UniqueFd{ends[1]}};
    for (UniqueFd* const end : {&made.read_end, &made.write_end}) {
        if (end->get() <= STDERR_FILENO) {
            *end = UniqueFd{::fcntl(end->get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1)};
        }
        if (!*end) {
            return Error::from_errno(Blame::node, "moving a pipe");
        }
    }
    return made;
}

void fill_standard_descriptors() {
    int fd = -1;
    do {
        fd = ::open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd < STDERR_FILENO);
    if (fd > STDERR_FILENO) {
        ::close(fd);
    }
}

/// Writes the blame and the sentence for the parent; nothing after a success.
void send_outcome(const UniqueFd& to, const Status& outcome) {
    if (outcome) {
        return;
    }
    std::string text(1, static_cast<char>('0' + static_cast<int>(outcome.error().blame())));
    text += outcome.error().sentence().substr(0, kMaxSentenceBytes);
    // A write below PIPE_BUF is atomic. A lost message changes nothing for the job.
    [[maybe_unused]] const auto written =
        ::write(to.get(), text.data(), std::min<std::size_t>(text.size(), 4096));
}

[[noreturn]] void be_the_child(const std::function<Status()>& work,
                               const UniqueFd& to) noexcept {
    // A crash here leaves no core file, and the child ends with slurmd.
    constexpr rlimit kNoCore{.rlim_cur = 0, .rlim_max = 0};
    static_cast<void>(::setrlimit(RLIMIT_CORE, &kNoCore));
    static_cast<void>(::prctl(PR_SET_PDEATHSIG, SIGKILL));
    for (const int number :
         {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTERM, SIGINT, SIGCHLD}) {
        static_cast<void>(std::signal(number, SIG_DFL));
    }
    fill_standard_descriptors();
    try {
        send_outcome(to, work());
        ::_exit(EXIT_SUCCESS);
    } catch (...) {
        ::_exit(EXIT_FAILURE);
    }
}

/// Returns the child's output up to the end of the pipe; nothing if `deadline` passes first.
std::optional<std::string> listen(const UniqueFd& from, Clock::time_point deadline) {
    std::string text;
    std::array<char, 4096> buffer{};
    while (true) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd one{.fd = from.get(), .events = POLLIN, .revents = 0};
        const int ready =
            ::poll(&one, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
        if (ready == 0 && left <= 0) {
            return std::nullopt;
        }
        if (ready <= 0) {
            continue;
        }
        const auto count = ::read(from.get(), buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return text;
        }
        text.append(buffer.data(), static_cast<std::size_t>(count));
    }
}

int reap(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

Status outcome_of(int status, const std::string& said) {
    if (WIFSIGNALED(status)) {
        return Error{Blame::internal,
                     "stagecast's part of the prolog died of signal " +
                         std::to_string(WTERMSIG(status))};
    }
    if (WEXITSTATUS(status) != EXIT_SUCCESS) {
        return Error{Blame::internal, "stagecast's part of the prolog broke"};
    }
    if (said.empty()) {
        return {};
    }
    const int blame = said.front() - '0';
    return Error{blame == 0   ? Blame::user
                 : blame == 1 ? Blame::node
                              : Blame::internal,
                 said.substr(1)};
}

}  // namespace

Status run_in_child(const std::function<Status()>& work, Duration limit) {
    TRY(auto pipe, make_pipe());
    const pid_t child = ::fork();
    if (child < 0) {
        return Error::from_errno(Blame::node, "starting a process");
    }
    if (child == 0) {
        be_the_child(work, pipe.write_end);
    }
    pipe.write_end.reset();
    const auto said = listen(pipe.read_end, Clock::now() + limit);
    if (!said) {
        static_cast<void>(::kill(child, SIGKILL));
        static_cast<void>(reap(child));
        return Error{Blame::internal, "stagecast's part of the prolog took too long"};
    }
    return outcome_of(reap(child), *said);
}

}  // namespace stage
