// Serves the node's own socket: who asks, and may they?
//
// Each connection is one request and one answer (control/message.h). Root, by SO_PEERCRED, may
// ask anything, users PING and STATUS. A user can hold few connections and not for long; they
// are counted for each uid, and none of them takes a place of root's prolog.
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
#include <string>

namespace stage {

class ControlServer {
    struct Token {};  ///< Only open() and the like make one.

  public:
    using ConnectionId = std::uint64_t;
    using OnRequest = std::function<void(ConnectionId, Request)>;
    /// Who asked has hung up before the answer.
    using OnGone = std::function<void(ConnectionId)>;

    /// Listens at `path`, replacing a socket that a dead daemon left; again, should somebody
    /// remove it while the daemon runs (a cleaner of old files). All that is handed in
    /// must outlive it.
    static Result<std::unique_ptr<ControlServer>> open(const std::string& path,
                                                       Loop& loop,
                                                       const Logger& log,
                                                       Counters& counters,
                                                       OnRequest on_request);
    ControlServer(
        Token token, std::string path, Loop& loop, const Logger& log, Counters& counters);
    ControlServer(const ControlServer&) = delete;
    ControlServer& operator=(const ControlServer&) = delete;
    ~ControlServer();

    /// The daemon ends. Who comes from now on finds no socket, and who has come and not asked
    /// is hung up on before anything of theirs is read: both wait for the next daemon. Answers
    /// that are owed can still be given.
    void close_door();

    void set_on_gone(OnGone on_gone) { on_gone_ = std::move(on_gone); }
    /// Who asks; by SO_PEERCRED. Within on_request.
    [[nodiscard]] uid_t uid_of(ConnectionId connection) const;

    /// The answer to what on_request told; a connection that is gone is ignored.
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
    UniqueFd socket_;
    UniqueFd
        removals_;  ///< inotify(7) of the socket's directory; none where that can't be had.
    Loop::TimerId restoring_ = 0;
    ConnectionId last_ = 0;
    std::map<ConnectionId, Connection> connections_;  ///< By id: the oldest first.
    std::uint64_t refused_unlogged_ = 0;
    std::optional<Instant> logged_at_;
};

}  // namespace stage
