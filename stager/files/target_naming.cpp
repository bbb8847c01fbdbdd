// How does a file that is whole get its name, where somebody may have taken it meanwhile?
#include "stager/files/disk_error.h"
#include "stager/files/disk_io.h"
#include "stager/files/target_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdio>

namespace stage {
Status TargetFile::appear() {
    if (Status awake = wake(); !awake) {
        return awake;
    }
    if (way_ != Way::write) {
        return still_there();
    }
    if (may_replace_) {
        if (::renameat(
                directory_.fd.get(), temporary_.c_str(), directory_.fd.get(), name_.c_str()) !=
            0) {
            return failed(errno);
        }
        has_temporary_ = false;
    } else if (Status named = rename_if_free(); !named) {
        return named;
    }
    if (order_.place.refuses_network) {  // Of an earlier push; not wanted any more.
        remove_partial(directory_.fd.get(), partial_name(name_));
    }
    if (order_.is_durable) {
        const UniqueFd directory{
            ::openat(directory_.fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
        if (!directory || ::fsync(directory.get()) != 0) {
            return failed(errno);
        }
    }
    return {};
}

Status TargetFile::rename_if_free() {
    const int at = directory_.fd.get();
    int cause = 0;
    if (::renameat2(at, temporary_.c_str(), at, name_.c_str(), RENAME_NOREPLACE) != 0) {
        cause = errno;
    }
    if (cause == EINVAL || cause == ENOSYS) {  // NFS, FUSE: a link refuses a taken name, too.
        cause = ::linkat(at, temporary_.c_str(), at, name_.c_str(), 0) == 0 ? 0 : errno;
        if (cause == 0) {
            static_cast<void>(::unlinkat(at, temporary_.c_str(), 0));
        }
    }
    if (cause == EEXIST) {
        return meet_newcomer();
    }
    if (cause != 0) {
        return failed(cause);
    }
    has_temporary_ = false;
    return {};
}

/// What had the name from the beginning may be another job's to remove.
Status TargetFile::still_there() const {
    struct stat there {};
    struct stat ours {};
    const bool is_there =
        ::fstatat(directory_.fd.get(), name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
    if (is_there && (way_ == Way::leave || (::fstat(fd_.get(), &ours) == 0 &&
                                            identity_of(ours) == identity_of(there)))) {
        return check_counts(there);
    }
    return was_taken_away(path());
}

/// Somebody took the name while we wrote. Its being there is judged as it would have been.
Status TargetFile::meet_newcomer() {
    if (order_.existing == Existing::keep) {
        way_ = Way::leave;
        return still_there();
    }
    const UniqueFd own = std::move(fd_);
    struct stat there {};
    if (Status opened = open_existing(); !opened) {
        return opened;
    }
    if (::fstat(fd_.get(), &there) != 0) {
        return failed(errno);
    }
    if (!S_ISREG(there.st_mode) || static_cast<std::uint64_t>(there.st_size) != node_.size ||
        !has_same_bytes(own.get(), fd_.get(), node_.size)) {
        return differs();
    }
    static_cast<void>(::unlinkat(directory_.fd.get(), temporary_.c_str(), 0));
    has_temporary_ = false;
    way_ = Way::compare;
    return {};
}

}  // namespace stage
