#include "stager/disk/disk_error.h"

#include "stager/spec/amount.h"

#include <pwd.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace stage {
namespace {

struct Remedy {
    int cause;
    Blame blame;
    std::string_view advice;
};

constexpr std::string_view kDeadMount =
    "it is mounted (FUSE), and the program that served it has ended; unmount it "
    "(fusermount -u) or mount it again";
constexpr std::string_view kFailing =
    "the file system it is on may be failing, tell the administrator";
constexpr std::string_view kLocked =
    "renew your credentials for it (kinit), or unlock it, where it is read and written";

/// Where a file is read and where it is written.
constexpr std::array kSharedRemedies{
    Remedy{ENOTCONN, Blame::user, kDeadMount},
    Remedy{ENOKEY, Blame::user, kLocked},
    Remedy{EKEYEXPIRED, Blame::user, kLocked},
    Remedy{EKEYREVOKED, Blame::user, kLocked},
    Remedy{EKEYREJECTED, Blame::user, kLocked},
    Remedy{EMFILE, Blame::node, "too many files are open, raise the limit of stagecastd"},
};

constexpr std::array kSourceRemedies{
    Remedy{ENOENT, Blame::user, "check the path"},
    Remedy{EACCES, Blame::user, "give yourself read permission on it and its directories"},
    Remedy{EPERM, Blame::user, "give yourself read permission on it and its directories"},
    Remedy{ENOTDIR, Blame::user, "check the path"},
    Remedy{ELOOP, Blame::user, "its symbolic links form a loop"},
    Remedy{ENAMETOOLONG, Blame::user, "choose a shorter name"},
    Remedy{EIO, Blame::node, "the file system it is on is failing, tell the administrator"},
    Remedy{EAGAIN,
           Blame::node,
           "another process here, such as a file server, does not give back its lease on it, "
           "tell the administrator"},
    Remedy{ESTALE, Blame::node, "it was replaced on the file server, submit the job again"},
};

constexpr std::array kTargetRemedies{
    Remedy{ENOSPC, Blame::user, "free some space there, or choose another destination"},
    Remedy{EDQUOT, Blame::user, "your quota there is used up, remove some files"},
    Remedy{EROFS, Blame::user, "choose a destination that can be written"},
    Remedy{EACCES, Blame::user, "choose a destination that you may write"},
    Remedy{EPERM, Blame::user, "choose a destination that you may write"},
    Remedy{ENOENT, Blame::user, "make its directory first, or choose another destination"},
    Remedy{
        ENOTDIR, Blame::user, "a component of the path is a file, choose another destination"},
    Remedy{ELOOP, Blame::user, "a component of the path is a symbolic link, use the real path"},
    Remedy{EXDEV, Blame::user, "a component of the path leads elsewhere, use the real path"},
    Remedy{ENAMETOOLONG, Blame::user, "choose a shorter name"},
    Remedy{EILSEQ,
           Blame::user,
           "the file system does not take every name, choose one in UTF-8 or another "
           "destination"},
    Remedy{EEXIST,
           Blame::user,
           "that name is there already: a file system that ignores case takes two names for "
           "one, choose another destination"},
    Remedy{EFBIG, Blame::user, "the file system or your limits (ulimit -f) allow less"},
    Remedy{EISDIR, Blame::user, "append a slash to put the file into it"},
    Remedy{EMLINK,
           Blame::user,
           "the file system takes no more hard links to one file, choose another destination, "
           "or make some of them files"},
    Remedy{EBUSY, Blame::user, "it is a mount point, name a directory in it"},
    Remedy{ENFILE, Blame::node, "too many files are open on the node, tell the administrator"},
    Remedy{EIO, Blame::node, "the disk is failing, tell the administrator"},
};

/// True if this node's user database has our uid. Without an entry only one of our groups
/// counts.
bool has_user_entry() {
    constexpr std::size_t kEntryMax = 65'536;
    std::vector<char> buffer(kEntryMax);
    passwd entry{};
    passwd* found = nullptr;
    return ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0 ||
           found != nullptr;
}

std::string unknown_user_advice() {
    return "this node has no user with uid " + std::to_string(::geteuid()) +
           ", so only your group " + std::to_string(::getegid()) +
           " is used: tell the administrator, or give that group permission";
}

/// True if the file system of `path`, or of what exists above it, has used up its inodes.
bool lacks_inodes(std::string path) {
    struct statvfs about {};
    while (::statvfs(path.c_str(), &about) != 0) {
        const std::size_t slash = path.rfind('/');
        if (slash == std::string::npos || path == "/") {
            return false;
        }
        path.resize(slash == 0 ? 1 : slash);
    }
    return about.f_files != 0 && about.f_favail == 0;
}

/// Null: no table has the cause.
template <std::size_t Count>
const Remedy* remedy_of(int cause, const std::array<Remedy, Count>& remedies) {
    const auto is_of_cause = [cause](const Remedy& remedy) { return remedy.cause == cause; };
    const auto found = std::ranges::find_if(remedies, is_of_cause);
    if (found != remedies.end()) {
        return &*found;
    }
    const auto shared = std::ranges::find_if(kSharedRemedies, is_of_cause);
    return shared != kSharedRemedies.end() ? &*shared : nullptr;
}

Error with_remedy(const Remedy* remedy, const std::string& path, int cause) {
    if (remedy == nullptr) {
        return Error::from_errno(Blame::node, path, cause).remedy(kFailing);
    }
    const bool is_unknown = cause == EACCES && !has_user_entry();
    return Error::from_errno(remedy->blame, path, cause)
        .remedy(is_unknown ? unknown_user_advice() : std::string{remedy->advice});
}

}  // namespace

Error source_error(const std::string& path, int cause) {
    return with_remedy(remedy_of(cause, kSourceRemedies), path, cause);
}

Error target_error(const std::string& path, int cause) {
    if (cause == ENOSPC && lacks_inodes(path)) {
        return Error::from_errno(Blame::user, path, cause)
            .remedy(
                "its file system has space but no inodes left; remove some files there, or "
                "choose another destination");
    }
    return with_remedy(remedy_of(cause, kTargetRemedies), path, cause);
}

Error link_error(const std::string& path, int cause) {
    if (cause == EPERM || cause == EOPNOTSUPP || cause == ENOSYS) {
        return Error::from_errno(Blame::user, path, cause)
            .remedy(
                "the file system takes no hard links, choose another destination, or stage "
                "copies instead of links");
    }
    return target_error(path, cause);
}

Error was_taken_away(const std::string& path) {
    return Error{Blame::user, path + ": was removed or replaced while it was staged"}.remedy(
        "submit the job again");
}

Error too_many_bytes(std::uint64_t bytes, std::uint64_t bytes_max) {
    return Error{Blame::user,
                 "the files to stage have " + binary_amount_text(bytes) +
                     ", this node allows " + binary_amount_text(bytes_max)}
        .remedy("stage less, or ask for a larger MaxBytes");
}

}  // namespace stage
