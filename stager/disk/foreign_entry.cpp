#include "stager/disk/foreign_entry.h"

#include "stager/disk/disk_error.h"
#include "transport/os/names_in.h"

#include <fcntl.h>

#include <cerrno>

namespace stage {
namespace {

constexpr const char* kRemoveOrElsewhere = "remove it, or choose another destination";

bool is_open_to_all(const struct stat& directory) {
    return (directory.st_mode & S_IWOTH) != 0;
}

/// In a sticky directory users are protected from each other's files.
bool is_open(const struct stat& directory) {
    constexpr mode_t kStickyOfGroup = S_ISVTX | S_IWGRP;
    return is_open_to_all(directory) || (directory.st_mode & kStickyOfGroup) == kStickyOfGroup;
}

Error belongs_to(const std::string& path, uid_t user, const std::string& where) {
    return Error{Blame::user, path + ": belongs to uid " + std::to_string(user) + where}.remedy(
        "choose another destination");
}

}  // namespace

ForeignEntry foreign_entry_in(const struct stat& directory,
                              const struct stat& there,
                              uid_t own) {
    if (!is_open(directory)) {
        return ForeignEntry::no;
    }
    if (there.st_uid != own && there.st_uid != directory.st_uid) {
        return ForeignEntry::by_another;
    }
    if (!S_ISLNK(there.st_mode) && (there.st_mode & S_IWOTH) != 0) {
        return ForeignEntry::is_writable;
    }
    return S_ISREG(there.st_mode) && there.st_nlink > 1 ? ForeignEntry::has_names
                                                        : ForeignEntry::no;
}

Status refuse_foreign_entry(int directory,
                            const struct stat& there,
                            const std::string& path,
                            const ForeignEntryTolerance& tolerance) {
    struct stat above {};
    if (::fstat(directory, &above) != 0) {
        return target_error(path, errno);
    }
    const std::string where = is_open_to_all(above) ? ", in a world-writable directory"
                                                    : ", in a group-writable sticky directory";
    switch (foreign_entry_in(above, there, tolerance.own)) {
        case ForeignEntry::by_another:
            return belongs_to(path, there.st_uid, where);
        case ForeignEntry::is_writable:
            if (!tolerance.is_writable) {
                return Error{Blame::user, path + ": is world-writable" + where}.remedy(
                    kRemoveOrElsewhere);
            }
            break;
        case ForeignEntry::has_names:
            if (!tolerance.has_names) {
                return Error{Blame::user, path + ": has several hard links" + where}.remedy(
                    kRemoveOrElsewhere);
            }
            break;
        case ForeignEntry::no:
            break;
    }
    return {};
}

Status check_own_directory(int directory, const std::string& path) {
    struct stat status {};
    if (::fstat(directory, &status) != 0) {
        return target_error(path, errno);
    }
    const uid_t own = ::geteuid();
    if (status.st_uid != own) {
        return belongs_to(path, status.st_uid, ", and libraries in it would be loaded");
    }
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return Error{Blame::user,
                     path + ": is writable by others, and libraries in it would be loaded"}
            .remedy(kRemoveOrElsewhere);
    }
    for (const std::string& name : names_in(directory)) {
        struct stat entry {};
        if (::fstatat(directory, name.c_str(), &entry, AT_SYMLINK_NOFOLLOW) == 0 &&
            entry.st_uid != own) {
            return belongs_to(
                path + '/' + name, entry.st_uid, ", in a directory of libraries to be loaded");
        }
    }
    return {};
}

}  // namespace stage
