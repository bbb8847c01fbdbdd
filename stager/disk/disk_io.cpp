#include "stager/disk/disk_io.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace stage {

std::int64_t read_fully(int fd, MutableBytes room, std::uint64_t offset) {
    std::size_t done = 0;
    while (done < room.size()) {
        const ssize_t count = ::pread(
            fd, room.data() + done, room.size() - done, static_cast<off_t>(offset + done));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return -1;
        }
        if (count == 0) {
            break;
        }
        done += static_cast<std::size_t>(count);
    }
    return static_cast<std::int64_t>(done);
}

bool write_fully(int fd, Bytes bytes, std::uint64_t offset) {
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t count = ::pwrite(
            fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return false;
        }
        if (count == 0) {  // POSIX allows it, and repeating the call might never end.
            errno = EIO;
            return false;
        }
        done += static_cast<std::size_t>(count);
    }
    return true;
}

bool close_written(UniqueFd& file) {
    return !file || ::close(file.release()) == 0;
}

bool has_same_bytes(int one, int other, std::uint64_t size) {
    constexpr std::size_t kStep = 256U << 10U;
    std::vector<std::byte> left(kStep);
    std::vector<std::byte> right(kStep);
    for (std::uint64_t at = 0; at < size; at += kStep) {
        const std::size_t count =
            static_cast<std::size_t>(std::min<std::uint64_t>(kStep, size - at));
        const MutableBytes a = MutableBytes{left}.first(count);
        const MutableBytes b = MutableBytes{right}.first(count);
        errno = 0;
        if (read_fully(one, a, at) != static_cast<std::int64_t>(count) ||
            read_fully(other, b, at) != static_cast<std::int64_t>(count) ||
            !std::equal(a.begin(), a.end(), b.begin())) {
            return false;
        }
    }
    return true;
}

int take_room(int fd, std::uint64_t bytes) {
    const auto size = static_cast<off_t>(bytes);
    struct statfs disk {};
    const bool is_memory = ::fstatfs(fd, &disk) == 0 && disk.f_type == TMPFS_MAGIC;
    int cause = is_memory ? EOPNOTSUPP : 0;
    while (!is_memory && size > 0) {
        cause = ::fallocate(fd, 0, 0, size) == 0 ? 0 : errno;
        if (cause != EINTR) {
            break;
        }
    }
    // File systems that cannot allocate say so by many numbers.
    const bool has_no_room =
        cause == ENOSPC || cause == EDQUOT || cause == EFBIG || cause == EIO;
    if (cause != 0 && !has_no_room) {
        cause = ::ftruncate(fd, size) == 0 ? 0 : errno;
    }
    return cause;
}

bool has_size(int fd, std::uint64_t bytes) {
    struct stat status {};
    return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
           static_cast<std::uint64_t>(status.st_size) == bytes;
}

}  // namespace stage
