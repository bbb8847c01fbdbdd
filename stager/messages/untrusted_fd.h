// Who closes a descriptor that a user's process has sent?
//
// It may be a file of the user's own file system (FUSE), or a socket that lingers: close() then
// waits for the user, as long as the user likes. The last close() of a file in memory frees it,
// which takes seconds where it is large. A daemon of one thread doesn't do that itself: what a
// user's process sent is closed by a thread that has nothing else to do, one a user. Nor is
// such a file read, written or looked at here; it is handed on to a process of its own
// (cache/copier.h).
#pragma once

#include "transport/os/unique_fd.h"

#include <sys/types.h>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace stage {

/// A memfd, or a file of tmpfs: nothing that is done with it waits for anybody. Asks no file
/// system.
[[nodiscard]] bool is_in_memory(int fd);

/// Descriptors of one user that may wait to be closed at one time. While there are as many
/// nothing more is taken from that user's processes.
inline constexpr std::size_t kClosingMax = 256;

/// Closes what one user's processes sent, one after the other, by one thread while there is
/// something to close: a user whose descriptors hang waits for the own ones.
class DeferredCloser : public std::enable_shared_from_this<DeferredCloser> {
  public:
    /// Closes them without waiting. Where no thread can be made they stay open until the next
    /// ones come: that costs a few descriptors, not the daemon. Held by a shared_ptr.
    void close(std::vector<UniqueFd> fds);
    void close(UniqueFd fd);
    /// The one that is being closed included.
    [[nodiscard]] std::size_t waiting() const;
    [[nodiscard]] bool is_full() const { return waiting() >= kClosingMax; }

  private:
    static void* run(void* self);
    [[nodiscard]] bool begin_thread();

    mutable std::mutex mutex_;
    std::vector<UniqueFd> fds_;
    std::size_t at_work_ = 0;  ///< That the thread has taken and not closed yet.
    bool has_thread_ = false;
};

using CloserPtr = std::shared_ptr<DeferredCloser>;

/// Each user's. One of them lives as long as somebody holds it, or it has something to close.
class UserClosers {
  public:
    [[nodiscard]] CloserPtr of(uid_t uid);

  private:
    std::map<uid_t, std::weak_ptr<DeferredCloser>> closers_;
};

/// The owner of one such descriptor, or of none.
class UntrustedFd {
  public:
    UntrustedFd() = default;
    explicit UntrustedFd(UniqueFd fd, CloserPtr closer = std::make_shared<DeferredCloser>())
        : fd_{std::move(fd)}, closer_{std::move(closer)} {}
    UntrustedFd(UntrustedFd&& other) noexcept = default;
    UntrustedFd& operator=(UntrustedFd&& other) noexcept {
        reset();
        fd_ = std::move(other.fd_);
        closer_ = std::move(other.closer_);
        return *this;
    }
    UntrustedFd(const UntrustedFd&) = delete;
    UntrustedFd& operator=(const UntrustedFd&) = delete;
    ~UntrustedFd() { reset(); }

    [[nodiscard]] int get() const { return fd_.get(); }
    explicit operator bool() const { return static_cast<bool>(fd_); }
    void reset() {
        if (fd_) {
            closer_->close(std::move(fd_));
        }
    }

    /// For who knows that it comes from root, or may wait: closed like any other from here on.
    [[nodiscard]] UniqueFd trusted() { return std::move(fd_); }

  private:
    UniqueFd fd_;
    CloserPtr closer_;
};

}  // namespace stage
