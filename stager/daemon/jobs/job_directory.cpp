#include "stager/daemon/jobs/job_directory.h"

#include "stager/spawn/cleanup_lists.h"
#include "transport/os/names_in.h"
#include "transport/os/open_unmounted.h"
#include "transport/os/root_directory.h"

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

constexpr const char* kKey = "StageRoot";
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

struct FileSystem {
    long magic;
    const char* name;
};
/// File systems on which a file would fill memory, or cross the network from which it came.
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

Status check_file_system(int fd, const std::string& path) {
    struct statfs about {};
    if (::fstatfs(fd, &about) != 0) {
        return Error::from_errno(Blame::node, std::string{kKey} + ": " + path);
    }
    for (const FileSystem& one : kUnfit) {
        if (static_cast<std::uint32_t>(about.f_type) == static_cast<std::uint32_t>(one.magic)) {
            return unfit_directory(
                kKey,
                path,
                std::string{"is on "} + one.name + ", not on a local disk",
                "name a directory on a local disk, or set AllowRamStageRoot=yes");
        }
    }
    return {};
}

constexpr int kJustThere = O_PATH | O_DIRECTORY;

Error not_opened(const std::string& name) {
    if (errno == EXDEV) {
        return mount_point(name);
    }
    const bool is_none = errno == ENOTDIR || errno == ELOOP || errno == ENOENT;
    return is_none ? Error{Blame::node, name + " is not a directory", ENOENT}
                   : Error::from_errno(Blame::node, "opening the directory " + name);
}

/// Makes this thread access files as `owner` while the object lives.
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
    auto root = open_root_directory(kKey, path, true);
    const Status fit = root && !allow_ram ? check_file_system(root->get(), path) : Status{};
    return fit ? std::move(root) : Result<UniqueFd>{fit.error()};
}

Status check_users_way(const std::string& path) {
    for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
        const std::string here = path.substr(0, slash);
        struct stat status {};
        if (::stat(here.c_str(), &status) == 0 && (status.st_mode & (S_IXGRP | S_IXOTH)) == 0) {
            return unfit_directory(kKey, here, "can be entered by root only", "chmod go+x it");
        }
        if (slash == std::string::npos) {
            return {};
        }
    }
}

Result<UniqueFd> find_stage_root(const std::string& path) {
    return open_root_directory(kKey, path, false);
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
        // Root has just made it in a directory that only root can write: it is the same one.
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
    if (!found) {
        return Error{Blame::node,
                     "the job's directory " + name + " already exists and is no directory",
                     EEXIST}
            .remedy("remove it");
    }
    if (found->uid == owner.uid) {
        return {};
    }
    const auto aside = set_directory_aside(root, name);
    return aside ? make_job_directory(root, job_id, owner) : Status{aside.error()};
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
        return Error{
            Blame::user,
            "$STAGECAST_DIR/" + name + " already exists and is not a directory of yours"}
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
