#include "stager/control/client.h"

#include "stager/control/frame.h"
#include "transport/os/unique_fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <system_error>

namespace stage {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kRemedy = "is stagecastd running on this node?";

Error silent(const std::string& path, std::string_view why) {
    return Error{Blame::node, "stagecastd does not answer at " + path + ": " + std::string{why}}
        .remedy(kRemedy);
}

Error silent(const std::string& path, int cause) {
    return Error{
        Blame::node,
        "stagecastd does not answer at " + path + ": " + std::generic_category().message(cause),
        cause}
        .remedy(kRemedy);
}

/// True if the daemon closed the connection without having read the whole request, so it has
/// not accepted it.
bool is_untaken(const Error& error) {
    return error.cause() == ECONNRESET || error.cause() == EPIPE;
}

constexpr int kBetweenTriesMs = 50;

/// The error for a connection without an answer.
constexpr Duration kLookTimeout = std::chrono::seconds{1};

/// Makes a socket that is none of 0, 1, 2, whichever of them the host process has closed.
UniqueFd open_socket() {
    UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (fd && fd.get() <= STDERR_FILENO) {
        fd = UniqueFd{::fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1)};
    }
    return fd;
}

timeval as_timeval(Duration duration) {
    const auto micros = std::max<std::int64_t>(
        1, std::chrono::duration_cast<std::chrono::microseconds>(duration).count());
    return {.tv_sec = micros / 1'000'000, .tv_usec = micros % 1'000'000};
}

/// Connects with a time limit: a blocking connect to a unix socket ends at its send timeout,
/// even when the backlog is full. Returns an errno on failure.
int try_to_connect(const sockaddr_un& address, Duration timeout, UniqueFd& fd) {
    fd = open_socket();
    const timeval limit = as_timeval(timeout);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the socket API's own way
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    if (!fd || ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0) {
        return errno;
    }
    int connected = 0;
    do {
        connected = ::connect(fd.get(), generic, sizeof address);
    } while (connected != 0 && errno == EINTR);
    if (connected == 0) {
        return 0;
    }
    return errno == EAGAIN ? ETIMEDOUT : errno;
}

/// Retries an absent socket until `absent` has passed.
Result<UniqueFd> connected(const std::string& path, Duration timeout, Duration absent) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        return silent(path, ENAMETOOLONG);
    }
    std::copy(path.begin(), path.end(), std::begin(address.sun_path));
    const auto until = Clock::now() + absent;
    while (true) {
        UniqueFd fd;
        const int cause = try_to_connect(address, timeout, fd);
        if (cause == 0) {
            return fd;
        }
        const bool is_absent = cause == ENOENT || cause == ECONNREFUSED;
        if (!is_absent || Clock::now() >= until) {
            return silent(path, cause);
        }
        static_cast<void>(::poll(nullptr, 0, kBetweenTriesMs));
    }
}

/// The listening process must belong to root or to this process's user.
Status check_peer(const UniqueFd& fd, const std::string& path) {
    ucred peer{};
    socklen_t length = sizeof peer;
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
        return silent(path, errno);
    }
    if (peer.uid != 0 && peer.uid != ::geteuid()) {
        return silent(path, "uid " + std::to_string(peer.uid) + " listens there, not root");
    }
    return {};
}

/// Waits for `events`; returns 0 or an errno. Pending events are accepted after the deadline,
/// too: this process may have been suspended with its job meanwhile.
int wait_for(const UniqueFd& fd, short events, Clock::time_point deadline) {
    while (true) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd one{.fd = fd.get(), .events = events, .revents = 0};
        const int ready =
            ::poll(&one, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
        if (ready > 0) {
            return 0;
        }
        if (ready == 0 && left <= 0) {
            return ETIMEDOUT;
        }
        if (ready < 0 && errno != EINTR) {
            return errno;
        }
    }
}

/// Returns 0 when all is sent, else an errno.
int send_all(const UniqueFd& fd, Bytes bytes, Clock::time_point deadline) {
    int cause = 0;
    while (!bytes.empty() && cause == 0) {
        const auto sent =
            ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) {
            bytes = bytes.subspan(static_cast<std::size_t>(sent));
        } else if (errno == EAGAIN) {
            cause = wait_for(fd, POLLOUT, deadline);
        } else if (errno != EINTR) {
            cause = errno;
        }
    }
    return cause;
}

/// Reads at least one byte into `buffer`.
Result<Bytes> receive_some(const UniqueFd& fd,
                           const std::string& path,
                           Clock::time_point deadline,
                           std::span<std::byte> buffer) {
    while (true) {
        if (const int cause = wait_for(fd, POLLIN, deadline); cause != 0) {
            return silent(path, cause);
        }
        const auto count = ::recv(fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
            continue;
        }
        if (count < 0) {
            return silent(path, errno);
        }
        if (count == 0) {
            return silent(path, "it closed the connection, as when it is stopped");
        }
        return Bytes{buffer.first(static_cast<std::size_t>(count))};
    }
}

}  // namespace

Result<Call> Call::begin(const std::string& socket_path,
                         const Request& request,
                         Duration timeout,
                         Duration absent) {
    const auto connect_by = Clock::now() + timeout + absent;
    TRY(auto fd, connected(socket_path, timeout, absent));
    TRY(check_peer(fd, socket_path));
    if (const int cause = send_all(fd, framed(encode(request)), connect_by); cause != 0) {
        return silent(socket_path, cause);
    }
    return Call{std::move(fd), socket_path};
}

Result<Answer> Call::answer(Clock::time_point deadline,
                            Bytes before,
                            const std::function<void(Bytes)>& keep) const {
    FrameReader reader{kMaxAnswerBytes};
    std::array<std::byte, 4096> buffer{};
    Status fed = reader.feed(before);
    auto message = reader.next();
    while (fed && !message) {
        TRY(const auto bytes, receive_some(fd_, path_, deadline, buffer));
        keep(bytes);
        fed = reader.feed(bytes);
        message = reader.next();
    }
    if (!fed) {
        return silent(path_, fed.error().sentence());
    }
    auto answer = decode_answer(*message);
    if (!answer) {
        return silent(path_, answer.error().sentence());
    }
    return answer;
}

Result<Answer> Call::answer(Duration timeout) const {
    return answer(Clock::now() + timeout, {}, [](Bytes) {});
}

UniqueFd root_of_listener(const std::string& socket_path) {
    const auto fd = connected(socket_path, kLookTimeout, {});
    ucred peer{};
    socklen_t length = sizeof peer;
    if (!fd || !check_peer(*fd, socket_path) ||
        ::getsockopt(fd->get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 ||
        peer.pid <= 0) {
        return UniqueFd{};
    }
    // (While the connection is open the pid is not reused.)
    const std::string root = "/proc/" + std::to_string(peer.pid) + "/root";
    return UniqueFd{::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
}

Result<Answer> ask_daemon(const std::string& socket_path,
                          const Request& request,
                          const CallTimeouts& timeouts) {
    const auto until = Clock::now() + timeouts.absent;
    while (true) {
        const Duration absent = std::max<Duration>(until - Clock::now(), {});
        const auto call = Call::begin(socket_path, request, timeouts.connect, absent);
        auto answer = call ? call->answer(timeouts.answer) : Result<Answer>{call.error()};
        if (answer || !is_untaken(answer.error()) || Clock::now() >= until) {
            return answer;
        }
        static_cast<void>(::poll(nullptr, 0, kBetweenTriesMs));
    }
}

}  // namespace stage
