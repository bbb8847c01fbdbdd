// Who closes a descriptor that a user's process has sent?
//
// It may be a file of the user's own file system (FUSE), or a socket that lingers: close() then
// waits for the user, as long as the user likes. A daemon of one thread doesn't do that itself:
// what is not in memory is closed by a thread that has nothing else to do. Nor is such a file
// read, written or looked at here; it is handed on to a process of its own (cache/copier.h).
#pragma once

#include "transport/base/unique_fd.h"

#include <vector>

namespace stage {

/// A memfd, or a file of tmpfs: nothing that is done with it waits for anybody. Asks no file
/// system.
[[nodiscard]] bool is_in_memory(int fd);

/// Closes them without waiting. Where no thread can be made they stay open: that costs a few
/// descriptors, not the daemon.
void close_apart(std::vector<UniqueFd> fds);
void close_apart(UniqueFd fd);

/// The owner of one such descriptor, or of none.
class StrangerFd {
  public:
    StrangerFd() = default;
    explicit StrangerFd(UniqueFd fd) : fd_{std::move(fd)} {}
    StrangerFd(StrangerFd&& other) noexcept = default;
    StrangerFd& operator=(StrangerFd&& other) noexcept {
        reset();
        fd_ = std::move(other.fd_);
        return *this;
    }
    StrangerFd(const StrangerFd&) = delete;
    StrangerFd& operator=(const StrangerFd&) = delete;
    ~StrangerFd() { reset(); }

    [[nodiscard]] int get() const { return fd_.get(); }
    explicit operator bool() const { return static_cast<bool>(fd_); }
    void reset() {
        if (fd_) {
            close_apart(std::move(fd_));
        }
    }

    /// For who knows that it comes from root, or may wait: closed like any other from here on.
    [[nodiscard]] UniqueFd trusted() { return std::move(fd_); }

  private:
    UniqueFd fd_;
};

}  // namespace stage
