#include "stager/disk/drop_behind.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

namespace stage {
namespace {

/// The kernel keeps a file in folios of up to 2 MB and drops only those that lie completely
/// within the range, so the end of the previous range is given again.
constexpr std::uint64_t kAgainBytes = 4U << 20U;

/// True for an errno that means lost bytes; any other one is about the advice itself.
bool is_loss(int cause) {
    return cause == EIO || cause == ENOSPC || cause == EDQUOT;
}

}  // namespace

int DropBehind::sync(int fd, std::uint64_t at, std::uint64_t bytes, unsigned how) {
    const bool is_done =
        ::sync_file_range(fd, static_cast<off64_t>(at), static_cast<off64_t>(bytes), how) == 0;
    return is_done ? 0 : errno;
}

/// The calls are advice: an error of the file system has no effect.
void DropBehind::ask(int fd, const Span& span, unsigned how) {
    const int cause = sync_(fd, span.offset, span.bytes, how);
    if (cause_ == 0 && is_loss(cause)) {
        cause_ = cause;
    }
}

void DropBehind::wrote(int fd, std::uint64_t offset, std::uint64_t bytes) {
    if (offset + bytes > room_) {
        const Span span{.offset = offset, .bytes = bytes};
        ask(fd, span, SYNC_FILE_RANGE_WRITE);
        pass(fd, span);
    }
}

void DropBehind::was_read(int fd, std::uint64_t offset, std::uint64_t bytes) {
    if (offset + bytes > room_) {
        pass(fd, {.offset = offset, .bytes = bytes});
    }
}

void DropBehind::pass(int fd, const Span& span) {
    behind_.push_back(span);
    bytes_behind_ += span.bytes;
    while (bytes_behind_ > kWindowBytes) {
        let_go(fd);
    }
}

void DropBehind::end(int fd) {
    while (!behind_.empty()) {
        let_go(fd);
    }
}

/// Drops the oldest window. Only clean pages can be dropped, so this waits for the disk.
void DropBehind::let_go(int fd) {
    const Span span = behind_.front();
    behind_.pop_front();
    bytes_behind_ -= span.bytes;
    constexpr unsigned kAll =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    ask(fd, span, kAll);
    const std::uint64_t end = span.offset + span.bytes;
    const std::uint64_t begin =
        std::max(room_, span.offset - std::min(span.offset, kAgainBytes));
    static_cast<void>(::posix_fadvise(
        fd, static_cast<off_t>(begin), static_cast<off_t>(end - begin), POSIX_FADV_DONTNEED));
}

}  // namespace stage
