#include "stager/files/source/source_file.h"

#include "stager/disk/disk_error.h"
#include "stager/disk/disk_io.h"
#include "stager/disk/open_to_read.h"
#include "stager/files/manifest/attributes.h"
#include "stager/files/manifest/holes.h"

#include <fcntl.h>

namespace stage {
namespace {

Error not_regular(const std::string& path, mode_t mode) {
    return Error{Blame::user, path + ": is " + std::string{kind_in_words(mode)}}.remedy(
        S_ISDIR(mode) ? "a file is required" : "only regular files can be staged");
}

std::chrono::nanoseconds time_of_day() {
    return std::chrono::system_clock::now().time_since_epoch();
}

std::optional<SourceStamp> stamp_on(int fd,
                                    const std::string& path,
                                    const struct stat& status) {
    const auto ground = stamp_ground(fd);
    return ground ? stamp_of(path, status, time_of_day(), *ground) : std::nullopt;
}

/// The last component. Requires a path that names a regular file, so that there is one.
std::string last_component(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? path : path.substr(slash + 1);
}

}  // namespace

Result<SourceFile> SourceFile::open(std::string path) {
    // It is examined before it is opened, since opening a tape or a pipe has side effects.
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
        return source_error(path, errno);
    }
    if (!S_ISREG(status.st_mode)) {
        return not_regular(path, status.st_mode);
    }
    UniqueFd fd = open_to_read(path);
    if (!fd || ::fstat(fd.get(), &status) != 0) {
        return source_error(path, errno);
    }
    if (!S_ISREG(status.st_mode)) {
        return not_regular(path, status.st_mode);
    }
    TRY(status.st_size == 0 ? check_really_empty(fd.get(), path) : Status{});
    // An error is ignored, since this is only advice.
    static_cast<void>(::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL));
    return SourceFile{std::move(path), std::move(fd), status};
}

SourceFile::SourceFile(std::string path, UniqueFd fd, const struct stat& status)
    : path_{std::move(path)},
      fd_{std::move(fd)},
      identity_{identity_of(status)},
      stamp_{stamp_on(fd_.get(), path_, status)} {
    constexpr std::int64_t kStatBlockBytes = 512;
    node_.kind = TreeKind::file;
    node_.size = static_cast<std::uint64_t>(status.st_size);
    node_.mtime = mtime_of(status);
    node_.mode = static_cast<std::uint16_t>(status.st_mode & 07777U);
    node_.uid = status.st_uid;
    node_.gid = status.st_gid;
    may_have_holes_ = status.st_blocks * kStatBlockBytes < status.st_size;
}

void SourceFile::find_shape() {
    node_.attributes = read_attributes(fd_.get());
    auto extents = may_have_holes_ ? extents_of(fd_.get(), node_.size) : std::nullopt;
    if (extents) {
        node_.kind = TreeKind::sparse;
        node_.extents = *std::move(extents);
    }
}

std::vector<FileIdentity> SourceFile::above() const {
    const std::string directory = path_.substr(0, path_.rfind('/') + 1) + '.';
    return directories_from(
        UniqueFd{::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)});
}

ManifestEntry SourceFile::describe() const {
    ManifestEntry entry;
    entry.name = last_component(path_);
    entry.size = node_.data_bytes();
    entry.mode = node_.mode;
    entry.uid = node_.uid;
    entry.gid = node_.gid;
    entry.mtime = node_.mtime;
    entry.shape = shape_of(node_);
    return entry;
}

/// Opens the file again by its name, and checks that it is the file that was described. (Some
/// file systems give a file another inode number each time that it is looked at.)
Status SourceFile::wake() {
    if (fd_) {
        return {};
    }
    UniqueFd again = open_to_read(path_);
    struct stat status {};
    if (!again || ::fstat(again.get(), &status) != 0) {
        return errno == ENOENT ? changed_while_read(path_) : source_error(path_, errno);
    }
    if (static_cast<std::uint64_t>(status.st_size) != node_.size ||
        mtime_of(status) != node_.mtime) {
        return changed_while_read(path_);
    }
    fd_ = std::move(again);
    return {};
}

Status SourceFile::read(std::uint64_t offset, MutableBytes room) {
    if (Status awake = wake(); !awake) {
        return awake;
    }
    for (const FilePiece& piece : file_pieces(node_, offset, room.size())) {
        const std::int64_t count =
            read_fully(fd_.get(), room.subspan(piece.begin, piece.length), piece.offset);
        if (count < 0) {
            return source_error(path_, errno);
        }
        if (static_cast<std::size_t>(count) < piece.length) {
            return changed_while_read(path_);
        }
        behind_.was_read(fd_.get(), piece.offset, piece.length);
    }
    return {};
}

Status SourceFile::unchanged() {
    if (Status awake = wake(); !awake) {
        return awake;
    }
    const auto now = state_of(fd_.get(), true);
    if (!now) {
        return source_error(path_, errno);
    }
    if (now->size != node_.size || now->mtime != node_.mtime) {
        return changed_while_read(path_);
    }
    return {};
}

Error SourceFile::changed_error(std::uint64_t /*offset*/, std::size_t /*length*/) {
    return changed_while_read(path_);
}

}  // namespace stage
