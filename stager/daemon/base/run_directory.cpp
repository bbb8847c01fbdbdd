#include "stager/daemon/base/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace stage {

Result<UniqueFd> lock_run_directory(const std::string& path) {
    if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
        return Error::from_errno(Blame::node, "making RunDir " + path);
    }
    const UniqueFd directory{
        ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
    struct stat status {};
    if (!directory || ::fstat(directory.get(), &status) != 0) {
        return Error::from_errno(Blame::node, "opening RunDir " + path);
    }
    if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return Error{Blame::node, "RunDir " + path + " can be written by others than root"}
            .remedy("chown root it and chmod 755 it");
    }
    UniqueFd lock{::openat(
        directory.get(), "stagecastd.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)};
    if (!lock) {
        return Error::from_errno(Blame::node, "opening the lock in " + path);
    }
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
        return Error{Blame::node, "another stagecastd uses RunDir " + path}.remedy(
            "stop it, or give this one another RunDir");
    }
    return lock;
}

void notify_service_manager(const std::string& state) {
    const char* path = std::getenv("NOTIFY_SOCKET");  // NOLINT(concurrency-mt-unsafe)
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = path != nullptr ? path : "";
    if (name.empty() || name.size() >= sizeof address.sun_path) {
        return;
    }
    std::copy(name.begin(), name.end(), &address.sun_path[0]);
    if (name.front() == '@') {
        address.sun_path[0] = '\0';
    }
    const UniqueFd fd{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    if (fd) {
        // A service manager that does not listen is no error.
        static_cast<void>(::sendto(fd.get(),
                                   state.data(),
                                   state.size(),
                                   MSG_NOSIGNAL,
                                   reinterpret_cast<const sockaddr*>(&address),
                                   length));
    }
}

}  // namespace stage
