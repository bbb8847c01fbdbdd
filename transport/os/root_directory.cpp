#include "transport/os/root_directory.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace stage {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/// No user except root can rename or replace its entries.
Status check_component(const std::string& key, int fd, const std::string& path, bool is_last) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) {
        return Error::from_errno(Blame::node, key + ": " + path);
    }
    if (status.st_uid != 0) {
        return unfit_directory(
            key, path, "does not belong to root", "chown root it, or name another");
    }
    const bool others_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    const bool sticky = (status.st_mode & S_ISVTX) != 0;
    if (others_write && (is_last || !sticky)) {
        return unfit_directory(
            key, path, "can be written by others than root", "chmod go-w it");
    }
    return {};
}

Result<UniqueFd> open_component(const std::string& key,
                                int above,
                                const std::string& name,
                                const std::string& path) {
    UniqueFd fd{::openat(above, name.c_str(), kDirectory)};
    if (fd) {
        return fd;
    }
    if (errno == ELOOP || errno == ENOTDIR) {
        return unfit_directory(
            key, path, "is a symbolic link or no directory", "name the real directory");
    }
    Error error = Error::from_errno(Blame::node, key + ": " + path);
    return error.cause() == ENOENT ? std::move(error).remedy("make it, as root's, mode 0755")
                                   : error;
}

}  // namespace

Error unfit_directory(const std::string& key,
                      const std::string& path,
                      const std::string& why,
                      const std::string& remedy) {
    return Error{Blame::node, key + ": " + path + " " + why}.remedy(remedy);
}

Result<UniqueFd> open_root_directory(const std::string& key,
                                     const std::string& path,
                                     bool makes_last) {
    if (path.empty() || path.front() != '/') {
        return unfit_directory(
            key, path, "is not an absolute path", "name a directory of root's");
    }
    UniqueFd at{::open("/", kDirectory)};
    if (!at) {
        return Error::from_errno(Blame::node, "opening /");
    }
    std::size_t from = 1;
    while (from < path.size()) {
        const std::size_t slash = std::min(path.find('/', from), path.size());
        const std::string name = path.substr(from, slash - from);
        from = slash + 1;
        if (name.empty()) {
            continue;
        }
        const bool is_last = path.find_first_not_of('/', slash) == std::string::npos;
        const std::string so_far = path.substr(0, slash);
        // A user who knows a name in it may go there; listing all names is reserved to root.
        if (makes_last && is_last && ::mkdirat(at.get(), name.c_str(), 0711) != 0 &&
            errno != EEXIST) {
            return Error::from_errno(Blame::node, "making " + key + " " + so_far);
        }
        auto next = open_component(key, at.get(), name, so_far);
        if (!next) {
            return next;
        }
        TRY(check_component(key, next->get(), so_far, is_last));
        at = std::move(*next);
    }
    return at;
}

}  // namespace stage
