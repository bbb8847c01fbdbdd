#include "stager/daemon/control_server.h"

#include "transport/os/lacks_descriptor.h"

#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace stage {
namespace {

constexpr int kBacklog = 512;
/// Connections taken per call, so that a flood leaves the loop time for others.
constexpr int kAcceptAtOnce = 64;
/// All connections of users together, without root's: one user may have several uids
/// (subuid(5)), so that a limit for each uid is not enough.
constexpr std::size_t kMaxUsers = 256;
constexpr std::size_t kMaxPerUid = 16;
constexpr Duration kRefusalLogEvery = std::chrono::seconds{10};
constexpr std::size_t kMaxConnections = 4096;  ///< Connections of root: plugins, one a stage.
/// The time for the whole request, and the time for the whole answer.
constexpr Duration kExchangeMax = std::chrono::seconds{5};
constexpr std::size_t kReadBytes = 16U << 10U;
constexpr Duration kRestoreAfter = std::chrono::milliseconds{100};
constexpr Duration kRestoreAgainAfter = std::chrono::seconds{10};

Result<UniqueFd> listen_at(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        return Error{Blame::node, path + " is too long for a socket"};
    }
    std::copy(path.begin(), path.end(), &address.sun_path[0]);
    UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    static_cast<void>(::unlink(path.c_str()));
    if (!fd || ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::chmod(path.c_str(), 0666) != 0 || ::listen(fd.get(), kBacklog) != 0) {
        return Error::from_errno(Blame::node, "listening at " + path);
    }
    return fd;
}

/// The uid that the process at the other end had when it connected.
uid_t peer_uid(int fd) {
    ucred peer{};
    socklen_t length = sizeof peer;
    const bool known = ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0;
    return known ? peer.uid : static_cast<uid_t>(-1);
}

bool is_for_all(const Request& request) {
    return std::holds_alternative<PingRequest>(request) ||
           std::holds_alternative<StatusRequest>(request) ||
           std::holds_alternative<TicketRequest>(request);
}

}  // namespace

Result<std::unique_ptr<ControlServer>> ControlServer::open(const std::string& path,
                                                           Loop& loop,
                                                           const Logger& log,
                                                           Counters& counters,
                                                           OnRequest on_request,
                                                           OnClose on_close) {
    auto server = std::make_unique<ControlServer>(Token{}, path, loop, log, counters);
    server->on_request_ = std::move(on_request);
    server->on_close_ = std::move(on_close);
    TRY(server->listen());
    server->watch_directory();
    return server;
}

Status ControlServer::listen() {
    TRY(auto socket, listen_at(path_));
    if (socket_) {
        loop_.forget(socket_.get());
        on_close_(std::move(socket_));  // Its backlog is of users, too.
    }
    socket_ = std::move(socket);
    return loop_.watch(socket_.get(), EPOLLIN, [this](auto) { on_connect(); });
}

void ControlServer::watch_directory() {
    const std::string directory = path_.substr(0, path_.rfind('/') + 1);
    removals_.reset(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    if (!removals_ ||
        ::inotify_add_watch(
            removals_.get(), directory.c_str(), IN_DELETE | IN_MOVED_FROM | IN_ONLYDIR) < 0 ||
        !loop_.watch(removals_.get(), EPOLLIN, [this](auto) { on_directory(); })) {
        removals_.reset();
    }
}

/// Any change in the directory checks the name, a little later: another daemon that replaces
/// the socket has done so by then.
void ControlServer::on_directory() {
    std::array<std::byte, kReadBytes> events{};
    while (::read(removals_.get(), events.data(), events.size()) > 0) {
    }
    loop_.cancel(restoring_);
    restoring_ = loop_.after(kRestoreAfter, [this] { restore_socket(); });
}

void ControlServer::restore_socket() {
    restoring_ = 0;
    struct stat status {};
    if (!socket_ || ::lstat(path_.c_str(), &status) == 0 || errno != ENOENT) {
        return;
    }
    if (Status listening = listen(); !listening) {
        log_.error("cannot make the removed control socket again",
                   {{"why", listening.error().sentence()}});
        restoring_ = loop_.after(kRestoreAgainAfter, [this] { restore_socket(); });
        return;
    }
    log_.warn("the control socket was removed; making it again", {{"path", path_}});
}

ControlServer::ControlServer(
    Token /*token*/, std::string path, Loop& loop, const Logger& log, Counters& counters)
    : path_{std::move(path)}, loop_{loop}, log_{log}, counters_{counters} {
}

ControlServer::~ControlServer() {
    while (!connections_.empty()) {
        drop(connections_.begin()->first);
    }
    close_socket();
}

void ControlServer::close_socket() {
    if (!socket_) {
        return;
    }
    // The name goes first: a client that is disconnected connects again at once.
    static_cast<void>(::unlink(path_.c_str()));
    loop_.forget(socket_.get());
    on_close_(std::move(socket_));
    loop_.cancel(std::exchange(restoring_, 0));
    if (removals_) {
        loop_.forget(removals_.get());
        removals_.reset();
    }
    std::vector<ConnectionId> unheard;
    for (const auto& [id, connection] : connections_) {
        if (!connection.asked) {
            unheard.push_back(id);
        }
    }
    for (const ConnectionId id : unheard) {
        drop(id);
    }
}

uid_t ControlServer::uid_of(ConnectionId connection) const {
    const auto found = connections_.find(connection);
    return found == connections_.end() ? static_cast<uid_t>(-1) : found->second.uid;
}

void ControlServer::on_connect() {
    for (int taken = 0; taken < kAcceptAtOnce; ++taken) {
        UniqueFd fd{::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
        if (!fd) {
            if (lacks_descriptor(errno)) {
                loop_.rest(socket_.get());
            }
            return;
        }
        const uid_t uid = peer_uid(fd.get());
        if (!make_place(uid)) {
            ++counters_.control_refused;
            on_close_(std::move(fd));
            continue;
        }
        add(std::move(fd), uid);
    }
}

void ControlServer::add(UniqueFd fd, uid_t uid) {
    const ConnectionId id = ++last_;
    const int yes = 1;  // An urgent byte, and its descriptors, are seen like the others.
    const bool is_set = ::setsockopt(fd.get(), SOL_SOCKET, SO_OOBINLINE, &yes, sizeof yes) == 0;
    if (!is_set || !loop_.watch(fd.get(), EPOLLIN, [this, id](auto) { read_request(id); })) {
        on_close_(std::move(fd));
        return;
    }
    Connection& connection = connections_[id];
    connection.fd = std::move(fd);
    connection.uid = uid;
    connection.timer = loop_.after(kExchangeMax, [this, id] { drop(id); });
}

/// False if this uid has all the connections it may have. Users' connections together take
/// nothing from root.
bool ControlServer::make_place(uid_t uid) {
    std::map<uid_t, std::size_t> counts;
    for (const auto& [id, one] : connections_) {
        ++counts[one.uid];
    }
    const std::size_t of_root = counts[0];
    if (uid == 0) {
        return of_root < kMaxConnections;
    }
    if (counts[uid] >= kMaxPerUid) {
        return false;
    }
    if (connections_.size() - of_root < kMaxUsers) {
        return true;
    }
    // A user may have many uids (subuid(5)): one that has a single connection keeps it.
    auto silent = connections_.end();
    for (auto one = connections_.begin(); one != connections_.end(); ++one) {
        const bool may_go = !one->second.is_root() && !one->second.asked;
        if (may_go && (silent == connections_.end() ||
                       counts[one->second.uid] > counts[silent->second.uid])) {
            silent = one;
        }
    }
    if (silent == connections_.end()) {
        return false;
    }
    ++counters_.control_refused;
    drop(silent->first);
    return true;
}

/// Does what read() does, but reads nothing if a user's descriptors are beside it: the kernel
/// closes those in the thread that reads. Fails then with EPERM.
ssize_t ControlServer::read_some(ConnectionId id, std::span<std::byte> room) {
    const Connection& connection = connections_.at(id);
    std::size_t count = room.size();
    if (!connection.is_root()) {
        iovec part{.iov_base = room.data(), .iov_len = room.size()};
        msghdr head{};
        head.msg_iov = &part;
        head.msg_iovlen = 1;
        const ssize_t there = ::recvmsg(connection.fd.get(), &head, MSG_PEEK);
        if (there <= 0) {
            return there;
        }
        if ((static_cast<unsigned>(head.msg_flags) & static_cast<unsigned>(MSG_CTRUNC)) != 0) {
            errno = EPERM;
            return -1;
        }
        count = static_cast<std::size_t>(there);
    }
    return ::read(connection.fd.get(), room.data(), count);
}

void ControlServer::read_request(ConnectionId id) {
    Connection& connection = connections_.at(id);
    std::array<std::byte, kReadBytes> buffer{};
    const ssize_t count = read_some(id, buffer);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (count < 0 && errno == EPERM && !connection.asked) {
        connection.asked = true;
        refuse(id, "a request must bring no descriptors");
        return;
    }
    // After its request a client has nothing more to send, whatever the answer waits for.
    if (count <= 0 || connection.asked) {
        if (count == 0 && connection.asked && on_gone_) {
            // It may have closed only its sending half, and still reads the answer.
            static_cast<void>(loop_.watch(connection.fd.get(), 0, [this, id](auto) {
                drop(id);  // The client has closed the other half, too.
            }));
            on_gone_(id);
            return;
        }
        drop(id);
        return;
    }
    const Status fed =
        connection.reader.feed(Bytes{buffer}.first(static_cast<std::size_t>(count)));
    const auto message = fed ? connection.reader.next() : std::nullopt;
    if (!fed) {
        refuse(id, fed.error().sentence());
    } else if (message) {
        take_request(id, *message);
    }
}

void ControlServer::take_request(ConnectionId id, Bytes message) {
    Connection& connection = connections_.at(id);
    connection.asked = true;
    loop_.cancel(connection.timer);
    auto request = decode_request(message);
    if (!request) {
        refuse(id, request.error().sentence());
    } else if (!connection.is_root() && !is_for_all(*request)) {
        refuse(id, "only root may send this request");
    } else {
        on_request_(id, std::move(*request));
    }
}

void ControlServer::refuse(ConnectionId id, const std::string& why) {
    ++counters_.control_refused;
    ++refused_unlogged_;
    if (!logged_at_ || loop_.now() >= *logged_at_ + kRefusalLogEvery) {
        logged_at_ = loop_.now();
        log_.warn("refused a request on the control socket; see which process sends it",
                  {{"why", why},
                   {"uid", uid_of(id)},
                   {"times", std::exchange(refused_unlogged_, 0)},
                   {"refused_total", counters_.control_refused}});
    }
    answer(id, Refused{.blame = Blame::internal, .sentence = why});
}

void ControlServer::answer(ConnectionId id, const Answer& answer) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) {
        return;
    }
    Connection& connection = found->second;
    connection.out = framed(encode(answer));
    loop_.cancel(connection.timer);
    connection.timer = loop_.after(kExchangeMax, [this, id] { drop(id); });
    write_some(id);
}

void ControlServer::write_some(ConnectionId id) {
    const auto found = connections_.find(id);
    if (found == connections_.end() || found->second.out.empty()) {
        return;
    }
    Connection& connection = found->second;
    const ssize_t count = ::send(connection.fd.get(),
                                 connection.out.data(),
                                 connection.out.size(),
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN && errno != EINTR) {
        drop(id);
        return;
    }
    connection.out.erase(connection.out.begin(),
                         connection.out.begin() + std::max<ssize_t>(count, 0));
    if (connection.out.empty()) {
        drop(id);
        return;
    }
    // Not EPOLLIN: a socket whose peer has closed its sending half is always readable.
    static_cast<void>(
        loop_.watch(connection.fd.get(), EPOLLOUT, [this, id](auto) { write_some(id); }));
}

void ControlServer::drop(ConnectionId id) {
    const auto found = connections_.find(id);
    if (found != connections_.end()) {
        loop_.cancel(found->second.timer);
        loop_.forget(found->second.fd.get());
        if (!found->second.is_root()) {
            on_close_(std::move(found->second.fd));
        }
        connections_.erase(found);
    }
}

}  // namespace stage
