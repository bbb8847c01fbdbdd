// What may end a worker before its work is done?
//
// A signal, its time being up, and whatever the one who started it says. All of them are
// descriptors in one epoll descriptor, so that whoever waits for anything else waits for them,
// too: the wire-up, the session's loop, the wait for a message.
#pragma once

#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

#include <chrono>
#include <functional>
#include <optional>

namespace stage {

class Interrupts {
  public:
    /// Blocks SIGTERM, SIGINT, SIGHUP for the whole process and ignores SIGPIPE and SIGXFSZ, so
    /// that they become errors: to be made before any thread.
    [[nodiscard]] static Result<Interrupts> make();

    /// Readable when there is something to look at.
    [[nodiscard]] int descriptor() const { return all_.get(); }

    /// From now on. 0: no limit.
    [[nodiscard]] Status limit(std::chrono::milliseconds time);
    /// `on_readable` is asked in check() when `fd` is readable; an error of its ends the work.
    [[nodiscard]] Status also(int fd, std::function<Status()> on_readable);

    /// Looks, without waiting. An error is the reason to end, and stays so.
    [[nodiscard]] Status check();
    /// Waits at most so long for something, then looks.
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
