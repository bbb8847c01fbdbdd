#include "stager/files/source_file.h"

#include "stager/files/disk_error.h"
#include "stager/files/disk_io.h"

#include <fcntl.h>

#include <array>

namespace stage {
namespace {

Error not_regular(const std::string& path, mode_t mode) {
    return Error{Blame::user, path + ": is " + std::string{kind_in_words(mode)}}.remedy(
        S_ISDIR(mode) ? "a file was meant" : "only regular files can be staged");
}

/// The last component. Requires a path that names a regular file, so there is one.
std::string last_component(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? path : path.substr(slash + 1);
}

}  // namespace

Result<SourceFile> SourceFile::open(std::string path) {
    // Looked at before it is opened: opening a tape or a pipe already does something.
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
        return source_error(path, errno);
    }
    if (!S_ISREG(status.st_mode)) {
        return not_regular(path, status.st_mode);
    }
    UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
    if (!fd || ::fstat(fd.get(), &status) != 0) {
        return source_error(path, errno);
    }
    if (!S_ISREG(status.st_mode)) {
        return not_regular(path, status.st_mode);
    }
    std::array<std::byte, 1> first{};
    if (status.st_size == 0 && read_fully(fd.get(), first, 0) != 0) {
        return Error{Blame::user, path + ": does not tell its size (a file of /proc or /sys?)"}
            .remedy("stage a copy of it");
    }
    // Advice that a file system does not take changes nothing.
    static_cast<void>(::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL));
    return SourceFile{std::move(path), std::move(fd), status};
}

SourceFile::SourceFile(std::string path, UniqueFd fd, const struct stat& status)
    : path_{std::move(path)},
      fd_{std::move(fd)},
      identity_{identity_of(status)},
      size_{static_cast<std::uint64_t>(status.st_size)},
      mtime_{mtime_of(status)},
      mode_{static_cast<std::uint16_t>(status.st_mode & 07777U)},
      uid_{status.st_uid},
      gid_{status.st_gid} {
}

ManifestEntry SourceFile::describe() const {
    ManifestEntry entry;
    entry.name = last_component(path_);
    entry.size = size_;
    entry.mode = mode_;
    entry.uid = uid_;
    entry.gid = gid_;
    entry.mtime = mtime_;
    return entry;
}

Status SourceFile::read(std::uint64_t offset, MutableBytes room) {
    const std::int64_t count = read_fully(fd_.get(), room, offset);
    if (count < 0) {
        return source_error(path_, errno);
    }
    if (static_cast<std::size_t>(count) < room.size()) {
        return changed_while_read(path_);
    }
    return {};
}

Status SourceFile::unchanged() const {
    struct stat status {};
    if (::fstat(fd_.get(), &status) != 0) {
        return source_error(path_, errno);
    }
    if (static_cast<std::uint64_t>(status.st_size) != size_ || mtime_of(status) != mtime_) {
        return changed_while_read(path_);
    }
    return {};
}

Error SourceFile::changed_error(std::uint64_t /*offset*/, std::size_t /*length*/) {
    return changed_while_read(path_);
}

}  // namespace stage
