// What becomes of a long file's pages once they were written or read?
//
// As many of its first bytes as fit stay in memory. What comes behind them would only push out
// everybody else's pages, and in the end its own first ones: it is written to the disk as it
// comes, and its pages are let go a window later. So dirty pages never pile up until the kernel
// holds the writer, and a file larger than memory costs its reader only what it must.
#pragma once

#include <cstdint>
#include <deque>

namespace stage {

/// One open file's. On a file system in memory all of this changes nothing.
class DropBehind {
  public:
    /// What is on its way to the disk at a time, bytes.
    static constexpr std::uint64_t kWindowBytes = 32U << 20U;

    /// `room`: how many of the file's first bytes may stay.
    explicit DropBehind(std::uint64_t room) : room_{room} {}

    /// The file's bytes from `offset` on were just written.
    void wrote(int fd, std::uint64_t offset, std::uint64_t bytes);
    /// Or read.
    void was_read(int fd, std::uint64_t offset, std::uint64_t bytes);
    /// Nothing more will come by this descriptor: what waits is let go now.
    void end(int fd);

  private:
    struct Span {
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
    };

    void pass(int fd, const Span& span);
    void let_go(int fd);

    std::uint64_t room_;
    std::deque<Span> behind_;  ///< In the order in which they came.
    std::uint64_t bytes_behind_ = 0;
};

}  // namespace stage
