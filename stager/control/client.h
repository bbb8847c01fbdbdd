// How does the plugin ask its node's daemon?
//
// One connection, one request, one answer, each step with a deadline: a daemon that is stopped,
// stuck or somebody else must cost the asker a bounded time and a sentence, never more. No
// signal (MSG_NOSIGNAL), no descriptor below 3 (a prolog begins with fd 0 closed), none left
// behind.
#pragma once

#include "stager/control/message.h"
#include "transport/base/units.h"
#include "transport/os/unique_fd.h"

#include <chrono>
#include <functional>
#include <string>

namespace stage {

struct CallPatience {
    Duration connect;  ///< Until the daemon has taken the connection and the request.
    Duration answer;   ///< From then until its answer.
    /// Until it listens: a daemon that is started anew isn't there for a moment. One that ends
    /// before it has read the request was not there, either (ask_daemon() only).
    Duration absent{};
};

/// A request that has been made, and whose answer may take its time. Who drops it hangs up.
class Call {
  public:
    [[nodiscard]] static Result<Call> begin(const std::string& socket_path,
                                            const Request& request,
                                            Duration patience,
                                            Duration absent = {});
    /// Readable when there is an answer, or never will be.
    [[nodiscard]] int fd() const { return fd_.get(); }
    /// Waits for it.
    [[nodiscard]] Result<Answer> answer(Duration patience) const;
    /// The same of one whose first bytes have been read `before`; `keep` is told what more is.
    [[nodiscard]] Result<Answer> answer(std::chrono::steady_clock::time_point deadline,
                                        Bytes before,
                                        const std::function<void(Bytes)>& keep) const;

  private:
    Call(UniqueFd fd, std::string path) : fd_{std::move(fd)}, path_{std::move(path)} {}

    UniqueFd fd_;
    std::string path_;
};

/// The root directory of the process that listens at a socket, as it sees it, opened as a path:
/// its mount namespace may be another than ours. None if it can't be told.
[[nodiscard]] UniqueFd root_of_listener(const std::string& socket_path);

/// Fails with Blame::node and a sentence that names the socket; Refused is an answer like
/// others.
[[nodiscard]] Result<Answer> ask_daemon(const std::string& socket_path,
                                        const Request& request,
                                        const CallPatience& patience);

}  // namespace stage
