// What becomes of a long file's pages once they were written or read?
//
// As many of its first bytes as fit stay in memory. What comes behind them would only push out
// everybody else's pages, and in the end its own first ones: it is written to the disk as it
// comes, and its pages are let go a window later. So dirty pages never pile up until the kernel
// holds the writer, and a file larger than memory costs its reader only what it must.
//
// Who waits for the disk is told what it refused, and whoever syncs the file later is not.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

namespace stage {

/// One open file's. On a file system in memory all of this changes nothing.
class DropBehind {
  public:
    /// What is on its way to the disk at a time, bytes.
    static constexpr std::uint64_t kWindowBytes = 32U << 20U;

    /// As sync_file_range(2): 0, or the errno.
    using Sync =
        std::function<int(int fd, std::uint64_t at, std::uint64_t bytes, unsigned how)>;
    [[nodiscard]] static int sync(int fd, std::uint64_t at, std::uint64_t bytes, unsigned how);

    /// `room`: how many of the file's first bytes may stay.
    explicit DropBehind(std::uint64_t room, Sync sync = &DropBehind::sync)
        : room_{room}, sync_{std::move(sync)} {}

    /// The file's bytes from `offset` on were just written.
    void wrote(int fd, std::uint64_t offset, std::uint64_t bytes);
    /// Or read.
    void was_read(int fd, std::uint64_t offset, std::uint64_t bytes);
    /// Nothing more will come by this descriptor: what waits is let go now.
    void end(int fd);
    /// Why bytes that were written did not come to the disk, the errno; 0: no such thing is
    /// known. They are lost, though a sync of the file may well succeed.
    [[nodiscard]] int cause() const { return cause_; }

  private:
    struct Span {
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
    };

    void pass(int fd, const Span& span);
    void let_go(int fd);
    void ask(int fd, const Span& span, unsigned how);

    std::uint64_t room_;
    Sync sync_;
    std::deque<Span> behind_;  ///< In the order in which they came.
    std::uint64_t bytes_behind_ = 0;
    int cause_ = 0;
};

}  // namespace stage
