#include "transport/os/unique_fd.h"

#include <cerrno>

namespace stage {

void UniqueFd::reset(int fd) {
    const int old = std::exchange(fd_, fd);
    if (old >= 0 && old != fd) {
        const int saved = errno;
        static_cast<void>(::close(old));
        errno = saved;
    }
}

}  // namespace stage
