// Keeps a long file from filling the page cache with pages that push out others.
//
// As many of the file's first bytes as fit stay in memory. The rest is written to the disk as
// it arrives, and its pages are dropped one window later. So dirty pages never accumulate until
// the kernel throttles the writer, and pages of other processes stay in memory.
//
// A write error of the disk is reported to the process that waits for the write-back here; a
// later fsync(2) of the file would not report it again.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

namespace stage {

/// Drops the pages of one open file. On a file system in memory it does nothing.
class DropBehind {
  public:
    /// The bytes whose write-back is in progress at one time.
    static constexpr std::uint64_t kWindowBytes = 32U << 20U;

    /// Does what sync_file_range(2) does; returns 0, or the errno.
    using Sync =
        std::function<int(int fd, std::uint64_t at, std::uint64_t bytes, unsigned how)>;
    [[nodiscard]] static int sync(int fd, std::uint64_t at, std::uint64_t bytes, unsigned how);

    /// `room`: how many of the file's first bytes may stay in memory.
    explicit DropBehind(std::uint64_t room, Sync sync = &DropBehind::sync)
        : room_{room}, sync_{std::move(sync)} {}

    /// The bytes from `offset` on have just been written.
    void wrote(int fd, std::uint64_t offset, std::uint64_t bytes);
    /// The bytes from `offset` on have just been read.
    void was_read(int fd, std::uint64_t offset, std::uint64_t bytes);
    /// No more bytes will be written or read through `fd`: drops the pages that are still
    /// waiting.
    void end(int fd);
    /// The errno with which written bytes failed to reach the disk, or 0 if no write-back has
    /// failed. Those bytes are lost although a later sync of the file may succeed.
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
    std::deque<Span> behind_;  ///< In the order of arrival.
    std::uint64_t bytes_behind_ = 0;
    int cause_ = 0;
};

}  // namespace stage
