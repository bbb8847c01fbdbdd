#include "spank/job/visibility.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

namespace stage {
namespace {

constexpr int kHow = O_PATH | O_DIRECTORY | O_CLOEXEC;

UniqueFd open_root() {
    return UniqueFd{::open("/", kHow)};
}

/// Opens the absolute path `directory` below `root`. Symbolic links are resolved from there,
/// too; before Linux 5.6 absolute ones are not.
UniqueFd open_below(const UniqueFd& root, const std::string& directory) {
    if (!root) {
        return UniqueFd{::open(directory.c_str(), kHow)};
    }
    open_how how{};
    how.flags = kHow;
    how.resolve = RESOLVE_IN_ROOT;
    const auto fd = ::syscall(SYS_openat2, root.get(), directory.c_str(), &how, sizeof how);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM)) {  // EPERM: a seccomp filter.
        return UniqueFd{::openat(root.get(), directory.c_str() + 1, kHow)};
    }
    return UniqueFd{static_cast<int>(fd)};
}

}  // namespace

void Visibility::capture_outside(UniqueFd root) {
    outside_ = root ? std::move(root) : open_root();
}

bool Visibility::capture_inside() {
    // A container's plugin (pyxis) enters a user namespace of its own.
    const UniqueFd users{::open("/proc/self/ns/user", O_PATH | O_CLOEXEC)};
    const auto now = users ? place_of(users.get()) : std::nullopt;
    if (inside_ && now != users_) {
        return false;
    }
    users_ = now;
    inside_ = open_root();
    return true;
}

std::optional<Visibility::Place> Visibility::place_of(int fd) {
    // A user's FUSE file system may never answer, so only cached attributes are used.
    struct statx facts {};
    if (::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &facts) != 0) {
        return std::nullopt;
    }
    return Place{makedev(facts.stx_dev_major, facts.stx_dev_minor), facts.stx_ino};
}

std::optional<Visibility::Place> Visibility::place_of(const std::string& directory,
                                                      const UniqueFd& root) {
    const UniqueFd found = open_below(root, directory);
    return found ? place_of(found.get()) : std::nullopt;
}

void Visibility::remember(const Verdict& verdict) {
    for (const std::string& directory : verdict.directories) {
        if (const auto place = place_of(directory, outside_)) {
            places_[directory] = *place;
        }
    }
}

std::optional<std::string> Visibility::objection() const {
    for (const auto& [directory, place] : places_) {
        errno = 0;
        const auto found = place_of(directory, inside_);
        if (found ? *found != place : errno == ENOENT) {
            return printable(directory) +
                   ": the job sees another directory here than the one that was staged into, "
                   "as with a private /tmp (job_container/tmpfs, or another SPANK plugin); "
                   "leave DST out, the file is then in $STAGECAST_DIR, or name a directory "
                   "that "
                   "the node's jobs share";
        }
    }
    return std::nullopt;
}

}  // namespace stage
