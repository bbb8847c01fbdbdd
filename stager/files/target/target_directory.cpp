#include "stager/files/target/target_directory.h"

#include "stager/disk/disk_error.h"
#include "stager/disk/foreign_entry.h"
#include "transport/os/root_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <limits>

namespace stage {
namespace {

struct FileSystemType {
    std::uint64_t type;
    std::string_view name;
};

/// From statfs(2) and the file systems' own headers. FUSE is not listed: it may be anything, so
/// the neighbour's temporary file has to show it (target_file.h).
constexpr std::array kNetworkFileSystems{
    FileSystemType{0x6969, "NFS"},
    FileSystemType{0x517B, "SMB"},
    FileSystemType{0xFF534D42, "CIFS"},
    FileSystemType{0xFE534D42, "SMB2"},
    FileSystemType{0x0BD00BD0, "Lustre"},
    FileSystemType{0x47504653, "GPFS"},
    FileSystemType{0x00C36400, "CephFS"},
    FileSystemType{0x19830326, "BeeGFS"},
    FileSystemType{0x5346414F, "AFS"},
    FileSystemType{0x6B414653, "AFS"},
    FileSystemType{0x73757245, "Coda"},
    FileSystemType{0x01021997, "9p"},
    FileSystemType{0x7461636F, "OCFS2"},
    FileSystemType{0x01161970, "GFS2"},
    FileSystemType{0xAAD7AAEA, "PanFS"},
    FileSystemType{0x20030528, "OrangeFS"},
    FileSystemType{0x18031977, "WekaFS"},
};

constexpr int kPlace = O_PATH | O_DIRECTORY | O_CLOEXEC;

/// `path` names the entered directory, open as `at`, that lies in `parent`.
Status check_step(int parent, int at, const std::string& path) {
    struct stat status {};
    if (::fstat(at, &status) != 0) {
        return target_error(path, errno);
    }
    // In a sticky directory the next step checks its own entry.
    return refuse_foreign_entry(
        parent, status, path, {.is_writable = (status.st_mode & S_ISVTX) != 0});
}

/// Makes a missing directory on the path, and records it so that it is removed if it stays
/// empty.
Status make_step(int parent,
                 const std::string& name,
                 const std::string& here,
                 const TargetPlace& place,
                 bool is_of_libraries,
                 std::shared_ptr<MadeDirectory>& made) {
    if (place.made && !is_of_libraries) {
        const Status there = place.made->make(parent, name, here);
        return there || there.error().cause() == 0
                   ? there
                   : Status{target_error(place.path(), there.error().cause())};
    }
    const bool is_made =
        ::mkdirat(parent, name.c_str(), place.is_of_libraries ? 0755 : 0777) == 0;
    if (!is_made && errno != EEXIST) {
        return target_error(place.path(), errno);
    }
    if (is_made && is_of_libraries) {
        made = std::make_shared<MadeDirectory>(UniqueFd{::fcntl(parent, F_DUPFD_CLOEXEC, 0)},
                                               name);
    }
    return {};
}

/// Opens the next directory. A link is detected separately, since its errno would be ENOTDIR.
Result<UniqueFd> step_down(int parent,
                           const std::string& name,
                           const std::string& here,
                           const TargetPlace& place,
                           bool is_of_libraries,
                           std::shared_ptr<MadeDirectory>& made) {
    UniqueFd next{::openat(parent, name.c_str(), kPlace | O_NOFOLLOW)};
    if (!next && errno == ENOENT && (place.makes_directories || is_of_libraries)) {
        TRY(make_step(parent, name, here, place, is_of_libraries, made));
        next.reset(::openat(parent, name.c_str(), kPlace | O_NOFOLLOW));
    }
    if (next) {
        return next;
    }
    int cause = errno;
    struct stat status {};
    if (cause == ENOTDIR &&
        ::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISLNK(status.st_mode)) {
        cause = ELOOP;
    }
    return target_error(place.path(), cause);
}

Result<UniqueFd> open_root_of(const TargetPlace& place) {
    if (!place.guarded_by.empty()) {
        return open_root_directory(place.guarded_by, place.root, false);
    }
    UniqueFd root{::open(place.root.c_str(), kPlace)};
    return root ? Result<UniqueFd>{std::move(root)}
                : Result<UniqueFd>{target_error(place.path(), errno)};
}

/// Follows all components of `below` but the last.
Result<UniqueFd> walk(UniqueFd at,
                      const TargetPlace& place,
                      std::shared_ptr<MadeDirectory>& made) {
    std::string_view rest = place.below;
    for (std::size_t slash = rest.find('/'); slash != std::string_view::npos;
         slash = rest.find('/')) {
        const std::string name{rest.substr(0, slash)};
        rest.remove_prefix(slash + 1);
        if (name.empty() || name == ".") {
            continue;
        }
        if (name == "..") {
            return Error{Blame::user, place.path() + ": a destination must not contain '..'"};
        }
        const bool is_of_libraries = place.is_of_libraries && rest.find('/') == rest.npos;
        const std::string path = place.path();
        const std::string here = path.substr(0, path.size() - rest.size() - 1);
        Result<UniqueFd> next = step_down(at.get(), name, here, place, is_of_libraries, made);
        if (!next) {
            return next;
        }
        TRY(check_step(at.get(), next->get(), here));
        at = *std::move(next);
    }
    return at;
}

/// If the file system does not report its free space, writing is tried.
void look_for_room(TargetDirectory& directory) {
    directory.free_bytes = std::numeric_limits<std::uint64_t>::max();
    directory.free_inodes = std::numeric_limits<std::uint64_t>::max();
    struct statvfs room {};
    if (::fstatvfs(directory.fd.get(), &room) != 0) {
        return;
    }
    directory.is_noexec = (room.f_flag & ST_NOEXEC) != 0;
    const bool is_root = ::geteuid() == 0;
    if (room.f_blocks != 0) {
        directory.free_bytes = (is_root ? room.f_bfree : room.f_bavail) * room.f_frsize;
    }
    if (room.f_files != 0) {
        directory.free_inodes = is_root ? room.f_ffree : room.f_favail;
    }
}

Status check_local(int directory, const TargetPlace& place) {
    struct statfs system {};
    if (!place.refuses_network || ::fstatfs(directory, &system) != 0) {
        return {};
    }
    // Types are 32-bit numbers, which a signed long extends.
    const auto type = static_cast<std::uint32_t>(system.f_type);
    const std::string_view name = network_file_system(type);
    if (name.empty()) {
        return {};
    }
    return Error{Blame::user,
                 place.path() + ": lies on a shared file system (" + std::string{name} +
                     "), where every node would write the same file"}
        .remedy("copy it there once yourself, or choose a local destination");
}

}  // namespace

MadeDirectory::~MadeDirectory() {
    static_cast<void>(::unlinkat(parent_.get(), name_.c_str(), AT_REMOVEDIR));
}

std::string TargetPlace::path() const {
    return root.ends_with('/') ? root + below : root + '/' + below;
}

std::string TargetPlace::name() const {
    const std::size_t slash = below.rfind('/');
    return slash == std::string::npos ? below : below.substr(slash + 1);
}

std::string_view network_file_system(std::uint64_t type) {
    for (const FileSystemType& known : kNetworkFileSystems) {
        if (known.type == type) {
            return known.name;
        }
    }
    return {};
}

Result<TargetDirectory> open_target_directory(const TargetPlace& place) {
    TRY(auto root, open_root_of(place));
    TargetDirectory directory;
    TRY(auto fd, walk(std::move(root), place, directory.made));
    TRY(check_local(fd.get(), place));
    if (place.is_of_libraries) {
        const std::string path = place.path();
        TRY(check_own_directory(fd.get(), path.substr(0, path.rfind('/'))));
    }
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) {
        return target_error(place.path(), errno);
    }
    directory.device = status.st_dev;
    // (Where an ACL lets other users write, the group's bits show it.)
    directory.has_other_writers = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0 ||
                                  (status.st_uid != 0 && status.st_uid != ::geteuid());
    directory.fd = std::move(fd);
    look_for_room(directory);
    return directory;
}

}  // namespace stage
