#include "stager/files/disk_io.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

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
        if (count == 0) {  // POSIX allows it; going on could be for ever.
            errno = EIO;
            return false;
        }
        done += static_cast<std::size_t>(count);
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
    if (cause == EOPNOTSUPP || cause == ENOSYS) {
        cause = ::ftruncate(fd, size) == 0 ? 0 : errno;
    }
    return cause;
}

}  // namespace stage
