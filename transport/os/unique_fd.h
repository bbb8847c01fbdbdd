// Owns a file descriptor and closes it.
#pragma once

#include <unistd.h>

#include <utility>

namespace stage {

/// The owner of one file descriptor, or of none (-1).
class UniqueFd {
  public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) : fd_{fd} {}
    UniqueFd(UniqueFd&& other) noexcept : fd_{other.release()} {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        reset(other.release());
        return *this;
    }
    UniqueFd(const UniqueFd&) = delete;
    UniqueFd& operator=(const UniqueFd&) = delete;
    ~UniqueFd() { reset(); }

    [[nodiscard]] int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }

    /// Gives the descriptor up without closing it.
    [[nodiscard]] int release() { return std::exchange(fd_, -1); }

    /// Closes what is owned and takes `fd`. errno is left as it was.
    void reset(int fd = -1);

  private:
    int fd_ = -1;
};

}  // namespace stage
