#include "stager/daemon/job_directory.h"

#include "transport/base/names_in.h"
#include "transport/base/open_unmounted.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace stage {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

struct FileSystem {
    long magic;
    const char* name;
};
/// Where a file would fill memory, or cross the network that it came from.
constexpr std::array<FileSystem, 14> kUnfit{{{TMPFS_MAGIC, "tmpfs"},
                                             {RAMFS_MAGIC, "ramfs"},
                                             {OVERLAYFS_SUPER_MAGIC, "overlay"},
                                             {NFS_SUPER_MAGIC, "NFS"},
                                             {SMB_SUPER_MAGIC, "SMB"},
                                             {0xff534d42L, "CIFS"},
                                             {0xfe534d42L, "SMB2"},
                                             {0x0bd00bd0L, "Lustre"},
                                             {0x47504653L, "GPFS"},
                                             {0x19830326L, "BeeGFS"},
                                             {0x20030528L, "OrangeFS"},
                                             {0x00c36400L, "Ceph"},
                                             {AFS_SUPER_MAGIC, "AFS"},
                                             {V9FS_MAGIC, "9p"}}};

std::string text_of(std::uint32_t number) {
    return std::to_string(number);
}

Error unfit(const std::string& path, const std::string& why, const std::string& remedy) {
    return Error{Blame::node, "StageRoot: " + path + " " + why}.remedy(remedy);
}

/// Nobody but root can rename or replace what is in it.
Status check_component(int fd, const std::string& path, bool is_last) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) {
        return Error::from_errno(Blame::node, "StageRoot: " + path);
    }
    if (status.st_uid != 0) {
        return unfit(path, "does not belong to root", "chown root it, or name another");
    }
    const bool others_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    const bool sticky = (status.st_mode & S_ISVTX) != 0;
    if (others_write && (is_last || !sticky)) {
        return unfit(path, "can be written by others than root", "chmod go-w it");
    }
    return {};
}

Status check_file_system(int fd, const std::string& path) {
    struct statfs about {};
    if (::fstatfs(fd, &about) != 0) {
        return Error::from_errno(Blame::node, "StageRoot: " + path);
    }
    for (const FileSystem& one : kUnfit) {
        if (static_cast<std::uint32_t>(about.f_type) == static_cast<std::uint32_t>(one.magic)) {
            return unfit(path,
                         std::string{"is on "} + one.name + ", not on a local disk",
                         "name another, or set AllowRamStageRoot=yes");
        }
    }
    return {};
}

Result<UniqueFd> open_component(int above, const std::string& name, const std::string& path) {
    UniqueFd fd{::openat(above, name.c_str(), kDirectory)};
    if (fd) {
        return fd;
    }
    if (errno == ELOOP || errno == ENOTDIR) {
        return unfit(path, "is a symbolic link or no directory", "name the real directory");
    }
    return Error::from_errno(Blame::node, "StageRoot: " + path);
}

/// Component by component; `make`: the last one, if it is not there.
Result<UniqueFd> walk_to_root(const std::string& path, bool make) {
    if (path.empty() || path.front() != '/') {
        return unfit(path, "is not an absolute path", "name a directory of root's");
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
        // Whoever knows a job's directory goes there; the list of all is nobody else's.
        if (make && is_last && ::mkdirat(at.get(), name.c_str(), 0711) != 0 &&
            errno != EEXIST) {
            return Error::from_errno(Blame::node, "making StageRoot " + so_far);
        }
        auto next = open_component(at.get(), name, so_far);
        if (!next) {
            return next;
        }
        const Status fit = check_component(next->get(), so_far, is_last);
        if (!fit) {
            return fit.error();
        }
        at = std::move(*next);
    }
    return at;
}

constexpr int kJustThere = O_PATH | O_DIRECTORY;

Error not_opened(const std::string& name) {
    if (errno == EXDEV) {
        return mount_point(name);
    }
    const bool is_none = errno == ENOTDIR || errno == ELOOP;
    return Error{Blame::node, name + " is no directory", is_none ? ENOENT : errno};
}

/// This thread's file accesses are `owner`'s for as long as it lives.
class ActingAs {
  public:
    explicit ActingAs(Owner owner) {
        ::setfsgid(owner.gid);
        ::setfsuid(owner.uid);
    }
    ActingAs(const ActingAs&) = delete;
    ActingAs& operator=(const ActingAs&) = delete;
    ~ActingAs() {
        ::setfsuid(::geteuid());
        ::setfsgid(::getegid());
    }
};

}  // namespace

Result<UniqueFd> open_stage_root(const std::string& path, bool allow_ram) {
    auto root = walk_to_root(path, true);
    const Status fit = root && !allow_ram ? check_file_system(root->get(), path) : Status{};
    return fit ? std::move(root) : Result<UniqueFd>{fit.error()};
}

Result<UniqueFd> find_stage_root(const std::string& path) {
    return walk_to_root(path, false);
}

std::vector<std::string> directory_names(std::uint32_t job_id, std::uint32_t step_id) {
    std::vector<std::string> names{text_of(job_id)};
    if (step_id != kWholeJob) {
        names.push_back("step." + text_of(step_id));
    }
    return names;
}

Status make_job_directory(int root, std::uint32_t job_id, Owner owner) {
    const std::string name = text_of(job_id);
    if (::mkdirat(root, name.c_str(), 0700) == 0) {
        // Root's, in a directory that only root can write: nobody can have exchanged it.
        const UniqueFd fd{::openat(root, name.c_str(), kDirectory)};
        if (!fd || ::fchown(fd.get(), owner.uid, owner.gid) != 0 ||
            ::fchmod(fd.get(), 0700) != 0) {
            return Error::from_errno(Blame::node, "making the job's directory " + name);
        }
        return {};
    }
    if (errno != EEXIST) {
        return Error::from_errno(Blame::node, "making the job's directory " + name);
    }
    const auto found = owner_of(root, name);
    if (!found && found.error().cause() == EXDEV) {
        return found.error().within("the job's directory");
    }
    if (!found || found->uid != owner.uid) {
        return Error{Blame::node,
                     "the job's directory " + name + " is there already, and somebody else's",
                     EEXIST}
            .remedy("remove it");
    }
    return {};
}

Status make_step_directory(int root, std::uint32_t job_id, std::uint32_t step_id, Owner owner) {
    const auto names = directory_names(job_id, step_id);
    const UniqueFd job = open_unmounted(root, names.at(0).c_str(), kJustThere);
    if (!job) {
        return not_opened(names.at(0)).within("the job's directory");
    }
    const std::string& name = names.at(1);
    const ActingAs user{owner};
    if (::mkdirat(job.get(), name.c_str(), 0700) != 0 && errno != EEXIST) {
        return Error::from_errno(Blame::user, "making $STAGECAST_DIR/" + name);
    }
    const auto found = owner_of(job.get(), name);
    if (!found || found->uid != owner.uid) {
        return Error{Blame::user,
                     "$STAGECAST_DIR/" + name + " is there already, and no directory of yours"}
            .remedy("remove it");
    }
    return {};
}

Result<Owner> owner_of(int root, std::uint32_t job_id) {
    return owner_of(root, text_of(job_id));
}

Result<Owner> owner_of(int above, const std::string& name) {
    const UniqueFd fd = open_unmounted(above, name.c_str(), kJustThere);
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0) {
        return not_opened(name);
    }
    return Owner{status.st_uid, status.st_gid};
}

bool is_gone(const Result<Owner>& owner) {
    return !owner && owner.error().cause() == ENOENT;
}

std::vector<std::string> numbered_directories(int directory) {
    std::vector<std::string> names = names_in(directory);
    std::erase_if(names, [directory](const std::string& name) {
        return name.find_first_not_of("0123456789") != std::string::npos ||
               is_gone(owner_of(directory, name));
    });
    return names;
}

}  // namespace stage
