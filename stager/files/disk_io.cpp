#include "stager/files/disk_io.h"

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

}  // namespace stage
