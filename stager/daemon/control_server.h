// Serves the node's control socket, on which the plugin and the commands send requests.
//
// Each connection carries one request and one answer (control/message.h). The daemon identifies
// the client by SO_PEERCRED: root may send every request, other users only PING, STATUS and
// TICKET. A user may hold few connections, each for a short time; they are counted for each
// uid, and none of them takes a place that root's prolog needs. Users may send descriptors that
// block the process that closes them; the server neither receives these nor closes the
// connection itself.
#pragma once

#include "stager/control/frame.h"
#include "stager/control/message.h"
#include "stager/daemon/base/counters.h"
#include "stager/daemon/base/loop.h"
#include "transport/base/log.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace stage {

class ControlServer {
    struct Token {};  ///< Only open() and the like make one.

  public:
    using ConnectionId = std::uint64_t;
    using OnRequest = std::function<void(ConnectionId, Request)>;
    /// The client has closed the connection before it was answered.
    using OnGone = std::function<void(ConnectionId)>;
    /// Closes a socket without blocking, even if a user's unread descriptors are in it.
    using OnClose = std::function<void(UniqueFd)>;

    /// Listens at `path` and replaces the socket of an earlier daemon. Makes the socket again
    /// if another process (a cleaner of old files) removes it while the daemon runs. All
    /// arguments must outlive the server.
    static Result<std::unique_ptr<ControlServer>> open(const std::string& path,
                                                       Loop& loop,
                                                       const Logger& log,
                                                       Counters& counters,
                                                       OnRequest on_request,
                                                       OnClose on_close);
    ControlServer(
        Token token, std::string path, Loop& loop, const Logger& log, Counters& counters);
    ControlServer(const ControlServer&) = delete;
    ControlServer& operator=(const ControlServer&) = delete;
    ~ControlServer();

    /// For the daemon's end. Later clients find no socket, and a client that has connected but
    /// sent no request is disconnected before anything is read: both wait for the next daemon.
    /// Pending answers can still be sent.
    void close_socket();

    void set_on_gone(OnGone on_gone) { on_gone_ = std::move(on_gone); }
    /// The client's uid, by SO_PEERCRED. To be called within on_request.
    [[nodiscard]] uid_t uid_of(ConnectionId connection) const;

    /// Answers a request that on_request received; a connection that is closed is ignored.
    void answer(ConnectionId connection, const Answer& answer);

  private:
    struct Connection {
        UniqueFd fd;
        uid_t uid = static_cast<uid_t>(-1);
        FrameReader reader{kMaxMessageBytes};
        std::vector<std::byte> out;
        Loop::TimerId timer = 0;
        bool asked = false;

        [[nodiscard]] bool is_root() const { return uid == 0; }
    };

    [[nodiscard]] Status listen();
    void watch_directory();
    void on_directory();
    void restore_socket();
    void on_connect();
    void add(UniqueFd fd, uid_t uid);
    [[nodiscard]] bool make_place(uid_t uid);
    void read_request(ConnectionId id);
    [[nodiscard]] ssize_t read_some(ConnectionId id, std::span<std::byte> room);
    void take_request(ConnectionId id, Bytes message);
    void write_some(ConnectionId id);
    void refuse(ConnectionId id, const std::string& why);
    void drop(ConnectionId id);

    std::string path_;
    Loop& loop_;
    const Logger& log_;
    Counters& counters_;
    OnRequest on_request_;
    OnGone on_gone_;
    OnClose on_close_;
    UniqueFd socket_;
    UniqueFd
        removals_;  ///< inotify(7) of the socket's directory; empty where it is not available.
    Loop::TimerId restoring_ = 0;
    ConnectionId last_ = 0;
    std::map<ConnectionId, Connection> connections_;  ///< By id: the oldest comes first.
    std::uint64_t refused_unlogged_ = 0;
    std::optional<Instant> logged_at_;
};

}  // namespace stage
