// Collects the events that end a worker before its work is done.
//
// These are a signal, the time limit, and messages of the process that started the worker. All
// of them are descriptors in one epoll descriptor, so that every wait of the worker includes
// them: the wire-up, the session's loop, the wait for a message.
#pragma once

#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

#include <chrono>
#include <functional>
#include <optional>

namespace stage {

class Interrupts {
  public:
    /// Blocks SIGTERM, SIGINT and SIGHUP for the whole process, and ignores SIGPIPE and SIGXFSZ
    /// so that they become errors. Must be called before any thread is started.
    [[nodiscard]] static Result<Interrupts> make();

    /// Readable when check() has something to do.
    [[nodiscard]] int descriptor() const { return all_.get(); }

    /// Limits the time from now on. 0: no limit.
    [[nodiscard]] Status limit(std::chrono::milliseconds time);
    /// check() calls `on_readable` when `fd` is readable; an error of it ends the work.
    [[nodiscard]] Status also(int fd, std::function<Status()> on_readable);

    /// Checks without waiting. An error is the reason to end; later calls return it again.
    [[nodiscard]] Status check();
    /// Waits at most `longest` for an event, then checks.
    [[nodiscard]] Status wait(std::chrono::milliseconds longest);

  private:
    Interrupts() = default;

    [[nodiscard]] Status add(int fd);
    [[nodiscard]] Status look();

    UniqueFd all_;
    UniqueFd signals_;
    UniqueFd timer_;
    std::chrono::milliseconds limit_{0};
    int other_ = -1;
    std::function<Status()> on_readable_;
    std::optional<Error> ended_;
};

}  // namespace stage
