#include "transport/os/open_unmounted.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace stage {

UniqueFd open_unmounted(int above, const char* name, int flags) {
    flags |= O_NOFOLLOW | O_CLOEXEC;
    open_how how{};
    how.flags = static_cast<unsigned>(flags);
    how.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH;
    const long fd = ::syscall(SYS_openat2, above, name, &how, sizeof how);
    // Before Linux 5.6, or under a filter that does not know the call. What is really forbidden
    // is so by openat(), too.
    if (fd < 0 && (errno == ENOSYS || errno == EPERM)) {
        return UniqueFd{::openat(above, name, flags)};
    }
    return UniqueFd{static_cast<int>(fd)};
}

Error mount_point(const std::string& path) {
    return Error{Blame::user, path + " is a mount point; unmount it", EXDEV};
}

}  // namespace stage
