#include "stager/files/target/file_rest.h"

#include "stager/disk/disk_error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace stage {

void FileRest::begin(UniqueFd& directory, UniqueFd& file) {
    struct stat status {};
    if (!directory || ::fstat(directory.get(), &status) != 0) {
        return;
    }
    Rested rested{.directory = identity_of(status)};
    if (file) {
        const int how = ::fcntl(file.get(), F_GETFL);
        if (how < 0 || ::fstat(file.get(), &status) != 0 || (status.st_mode & S_IRUSR) == 0) {
            return;  // It could not be opened again later.
        }
        rested.file = identity_of(status);
        rested.how = how & O_ACCMODE;
        // Only close(2) reports what NFS could not store.
        if (rested.how != O_RDONLY && ::close(file.release()) != 0) {
            rested.cause = errno;
        }
    }
    rested_ = rested;
    file.reset();
    directory.reset();
}

Status FileRest::end(const TargetPlace& place,
                     const std::string& name,
                     UniqueFd& directory,
                     UniqueFd& file) {
    if (!rested_) {
        return {};
    }
    const Rested before = *std::exchange(rested_, std::nullopt);
    if (before.cause != 0) {
        return target_error(place.path(), before.cause);
    }
    TRY(auto opened, open_target_directory(place));
    struct stat now {};
    if (::fstat(opened.fd.get(), &now) != 0 || identity_of(now) != before.directory) {
        return was_taken_away(place.path());
    }
    directory = std::move(opened.fd);
    if (!before.file) {
        return {};
    }
    constexpr int kAgain = O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    UniqueFd again{::openat(directory.get(), name.c_str(), before.how | kAgain)};
    if (!again || ::fstat(again.get(), &now) != 0) {
        return errno == ENOENT || errno == ELOOP ? was_taken_away(place.path())
                                                 : target_error(place.path(), errno);
    }
    if (identity_of(now) != *before.file) {
        return was_taken_away(place.path());
    }
    file = std::move(again);
    return {};
}

}  // namespace stage
