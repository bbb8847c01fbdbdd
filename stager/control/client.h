// Sends a request to the node's daemon and waits for the answer, with a time limit for each
// step.
//
// A stopped, stuck or foreign process at the socket costs the caller a bounded time and yields
// an error. The client raises no signal (MSG_NOSIGNAL), never uses descriptors below 3 (a
// prolog begins with fd 0 closed), and leaves none open.
#pragma once

#include "stager/control/message.h"
#include "transport/base/units.h"
#include "transport/os/unique_fd.h"

#include <chrono>
#include <functional>
#include <string>

namespace stage {

struct CallTimeouts {
    Duration connect;  ///< Until the daemon has accepted connection and request.
    Duration answer;   ///< From then until its answer.
    /// How long to wait for a socket that does not listen, as during a restart of the daemon. A
    /// daemon that ends before it has read the request counts as absent, too (ask_daemon()
    /// only).
    Duration absent{};
};

/// A sent request whose answer is pending. Its destructor closes the connection.
class Call {
  public:
    [[nodiscard]] static Result<Call> begin(const std::string& socket_path,
                                            const Request& request,
                                            Duration timeout,
                                            Duration absent = {});
    /// Readable when the answer has arrived or the connection has ended.
    [[nodiscard]] int fd() const { return fd_.get(); }
    /// Waits for the answer.
    [[nodiscard]] Result<Answer> answer(Duration timeout) const;
    /// Waits for the rest of an answer whose first bytes are `before`; passes further bytes to
    /// `keep`.
    [[nodiscard]] Result<Answer> answer(std::chrono::steady_clock::time_point deadline,
                                        Bytes before,
                                        const std::function<void(Bytes)>& keep) const;

  private:
    Call(UniqueFd fd, std::string path) : fd_{std::move(fd)}, path_{std::move(path)} {}

    UniqueFd fd_;
    std::string path_;
};

/// Opens (O_PATH) the root directory of the process that listens at a socket; its mount
/// namespace may differ from this process's. Invalid if it is unknown.
[[nodiscard]] UniqueFd root_of_listener(const std::string& socket_path);

/// Fails with Blame::node, naming the socket; Refused is returned as an answer.
[[nodiscard]] Result<Answer> ask_daemon(const std::string& socket_path,
                                        const Request& request,
                                        const CallTimeouts& timeouts);

}  // namespace stage
