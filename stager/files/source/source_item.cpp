#include "stager/files/source/source_item.h"

#include "stager/disk/disk_error.h"
#include "stager/disk/disk_io.h"
#include "stager/files/source/source_file.h"
#include "stager/files/source/source_tree.h"

#include <fcntl.h>

#include <array>

namespace stage {

FileIdentity identity_of(const struct stat& status) {
    return {status.st_dev, status.st_ino};
}

FileTime mtime_of(const struct stat& status) {
    return {status.st_mtim.tv_sec, static_cast<std::uint32_t>(status.st_mtim.tv_nsec)};
}

bool is_no_older(const FileTime& there, const FileTime& source) {
    return there >= source || (there.nanoseconds == 0 && there.seconds == source.seconds);
}

std::optional<FileState> state_of(int fd, bool is_asked_anew) {
    struct statx now {};
    const int how = is_asked_anew ? AT_STATX_FORCE_SYNC : AT_STATX_SYNC_AS_STAT;
    constexpr unsigned kWanted = STATX_TYPE | STATX_SIZE | STATX_MTIME | STATX_INO;
    if (::statx(fd, "", AT_EMPTY_PATH | how, kWanted, &now) != 0) {
        return std::nullopt;
    }
    return FileState{.mode = now.stx_mode,
                     .size = now.stx_size,
                     .mtime = {now.stx_mtime.tv_sec, now.stx_mtime.tv_nsec},
                     .inode = now.stx_ino};
}

std::string_view kind_in_words(mode_t mode) {
    switch (mode & S_IFMT) {
        case S_IFDIR:
            return "a directory";
        case S_IFCHR:
        case S_IFBLK:
            return "a device";
        case S_IFIFO:
            return "a pipe";
        case S_IFSOCK:
            return "a socket";
        default:
            return "no regular file";
    }
}

std::vector<FileIdentity> directories_from(UniqueFd at) {
    std::vector<FileIdentity> above;
    constexpr std::size_t kMost = 4096;
    struct stat status {};
    while (at && above.size() < kMost && ::fstat(at.get(), &status) == 0) {
        const FileIdentity here = identity_of(status);
        if (!above.empty() && above.back() == here) {
            break;  // The root directory is its own parent.
        }
        above.push_back(here);
        at.reset(::openat(at.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
    }
    return above;
}

Status check_really_empty(int file, const std::string& path) {
    std::array<std::byte, 1> first{};
    const std::int64_t count = read_fully(file, first, 0);
    struct stat now {};
    if (count > 0 && ::fstat(file, &now) == 0 && now.st_size > 0) {
        return {};  // It was empty, and has grown since.
    }
    if (count > 0) {
        return Error{Blame::user,
                     path + ": does not report its size (a file of /proc or /sys?)"}
            .remedy("stage a copy of it");
    }
    return count == 0 ? Status{} : Status{source_error(path, errno)};
}

Error changed_while_read(const std::string& path, bool is_member) {
    return Error{Blame::user, path + ": changed while it was read"}.remedy(
        is_member ? "do not change it while the job starts, or leave it out with exclude=" +
                        path.substr(path.rfind('/') + 1)
                  : "do not change it while the job starts");
}

Result<std::unique_ptr<SourceItem>> open_source(const std::string& path,
                                                bool is_plain,
                                                const TreeChoice& choice,
                                                HeldRoom& room) {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
        TRY(auto tree, SourceTree::open(path, choice, room));
        return std::unique_ptr<SourceItem>{std::make_unique<SourceTree>(std::move(tree))};
    }
    TRY(auto file, SourceFile::open(path));
    if (!is_plain) {
        file.find_shape();
    }
    return std::unique_ptr<SourceItem>{std::make_unique<SourceFile>(std::move(file))};
}

}  // namespace stage
