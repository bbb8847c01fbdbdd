#include "stager/disk/trusted_path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace stage {
namespace {

constexpr int kPlace = O_PATH | O_CLOEXEC;

/// True if only root could have made or replaced the entry that belongs to root.
bool is_roots(int directory, const struct stat& link) {
    struct stat status {};
    if (link.st_uid != 0 || ::fstat(directory, &status) != 0 || status.st_uid != 0) {
        return false;
    }
    return (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (status.st_mode & S_ISVTX) != 0;
}

UniqueFd step_into(int directory, const std::string& name) {
    UniqueFd next{::openat(directory, name.c_str(), kPlace | O_NOFOLLOW)};
    struct stat status {};
    if (!next || ::fstat(next.get(), &status) != 0 || S_ISDIR(status.st_mode)) {
        return next;
    }
    if (!S_ISLNK(status.st_mode) || !is_roots(directory, status)) {
        errno = S_ISLNK(status.st_mode) ? ELOOP : ENOTDIR;
        return {};
    }
    return UniqueFd{::openat(directory, name.c_str(), kPlace | O_DIRECTORY)};
}

}  // namespace

UniqueFd open_trusted_path(const std::string& path) {
    if (!path.starts_with('/')) {
        errno = EINVAL;
        return {};
    }
    UniqueFd here{::open("/", kPlace | O_DIRECTORY)};
    for (std::size_t at = 1; here && at < path.size();) {
        const std::size_t end = std::min(path.find('/', at), path.size());
        const std::string name = path.substr(at, end - at);
        at = end + 1;
        if (name == "..") {
            errno = EINVAL;
            return {};
        }
        if (!name.empty() && name != ".") {
            here = step_into(here.get(), name);
        }
    }
    return here;
}

void remove_if_empty(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) {
        return;
    }
    const UniqueFd parent = open_trusted_path(path.substr(0, slash + 1));
    if (parent) {
        static_cast<void>(
            ::unlinkat(parent.get(), path.substr(slash + 1).c_str(), AT_REMOVEDIR));
    }
}

}  // namespace stage
