// How does a file that is one of very many go without open descriptors?
#include "stager/files/disk_error.h"
#include "stager/files/target_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

namespace stage {

void TargetFile::rest() {
    struct stat directory {};
    if (!directory_.fd || ::fstat(directory_.fd.get(), &directory) != 0) {
        return;
    }
    Rested rested{.directory = identity_of(directory)};
    struct stat file {};
    if (fd_) {
        const int how = ::fcntl(fd_.get(), F_GETFL);
        if (how < 0 || ::fstat(fd_.get(), &file) != 0 || (file.st_mode & S_IRUSR) == 0) {
            return;  // It could not be opened again.
        }
        rested.file = identity_of(file);
        rested.how = how & O_ACCMODE;
        // As close_for_writing() does: only this tells what NFS could not store.
        if (rested.how != O_RDONLY && ::close(fd_.release()) != 0) {
            rested.cause = errno;
        }
    }
    rested_ = rested;
    fd_.reset();
    directory_.fd.reset();
}

/// By its name, which others may have been at meanwhile: it must be the same file.
Status TargetFile::wake() const {
    if (!rested_) {
        return {};
    }
    const Rested before = *std::exchange(rested_, std::nullopt);
    if (before.cause != 0) {
        return failed(before.cause);
    }
    Result<TargetDirectory> directory = open_target_directory(order_.place);
    if (!directory) {
        return std::move(directory).error();
    }
    struct stat now {};
    if (::fstat(directory->fd.get(), &now) != 0 || identity_of(now) != before.directory) {
        return was_taken_away(path());
    }
    directory_.fd = std::move(directory->fd);
    if (!before.file) {
        return {};
    }
    const std::string& name = has_temporary_ ? temporary_ : name_;
    constexpr int kAgain = O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    UniqueFd file{::openat(directory_.fd.get(), name.c_str(), before.how | kAgain)};
    if (!file || ::fstat(file.get(), &now) != 0) {
        return errno == ENOENT || errno == ELOOP ? was_taken_away(path()) : failed(errno);
    }
    if (identity_of(now) != *before.file) {
        return was_taken_away(path());
    }
    fd_ = std::move(file);
    if (has_temporary_) {
        static_cast<void>(::flock(fd_.get(), LOCK_EX | LOCK_NB));
    }
    return {};
}

}  // namespace stage
