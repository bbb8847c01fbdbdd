// Closes descriptors that a user's process has sent, without blocking the daemon.
//
// Such a descriptor may be a file of the user's own file system (FUSE), or a socket that
// lingers: close() then waits as long as the user likes. The last close() of a large file in
// memory frees it, which takes seconds. The daemon has one thread, so a thread of its own, one
// for each user, closes what the user's processes have sent. Nor does the daemon read, write or
// stat such a file; it passes it on to a process of its own (cache/copier.h).
#pragma once

#include "transport/os/unique_fd.h"

#include <sys/types.h>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace stage {

/// Whether it is a memfd, or a file of tmpfs, so that no access blocks. Does not access the
/// file system.
[[nodiscard]] bool is_in_memory(int fd);

/// Descriptors of one user that may wait to be closed at one time. At that number nothing more
/// is accepted from that user's processes.
inline constexpr std::size_t kClosingMax = 256;

/// Closes the descriptors of one user, one after the other, in a thread that runs while there
/// are any: a user whose descriptors hang delays only the user's own ones.
class DeferredCloser : public std::enable_shared_from_this<DeferredCloser> {
  public:
    /// Closes them without waiting. If no thread can be made, they stay open until the next
    /// call, which costs only a few descriptors. The object must be held by a shared_ptr.
    void close(std::vector<UniqueFd> fds);
    void close(UniqueFd fd);
    /// Includes the one that is being closed.
    [[nodiscard]] std::size_t waiting() const;
    [[nodiscard]] bool is_full() const { return waiting() >= kClosingMax; }

  private:
    static void* run(void* self);
    [[nodiscard]] bool begin_thread();

    mutable std::mutex mutex_;
    std::vector<UniqueFd> fds_;
    std::size_t at_work_ = 0;  ///< Descriptors that the thread has taken and not closed yet.
    bool has_thread_ = false;
};

using CloserPtr = std::shared_ptr<DeferredCloser>;

/// The closers by user. A closer lives while it is referenced, or has something to close.
class UserClosers {
  public:
    [[nodiscard]] CloserPtr of(uid_t uid);

  private:
    std::map<uid_t, std::weak_ptr<DeferredCloser>> closers_;
};

/// Owns one such descriptor, or none.
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

    /// For callers that know that it comes from root, or that may block: closed at once from
    /// here.
    [[nodiscard]] UniqueFd trusted() { return std::move(fd_); }

  private:
    UniqueFd fd_;
    CloserPtr closer_;
};

}  // namespace stage
