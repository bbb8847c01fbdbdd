// Checks whether another user may have placed or changed an entry of a directory.
//
// The rule is the kernel's for fs.protected_regular. In a world-writable directory, or in a
// group-writable sticky one, an entry is trusted only if it belongs to this user or to the
// directory's owner and is not world-writable. In any other directory every entry is trusted: a
// user who stages into a project's directory trusts the users who can write it. Where there is
// an ACL, S_IWGRP is its mask.
//
// In a sticky directory a trusted entry stays trusted, since no other user can rename or remove
// it. In a world-writable directory without the sticky bit any user can replace its entries at
// any time, also a file that was just staged.
#pragma once

#include "transport/base/result.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace stage {

enum class ForeignEntry : unsigned char {
    no,
    by_another,   ///< It belongs to neither this user nor the directory's owner.
    is_writable,  ///< It is world-writable. (The mode of a symbolic link means nothing.)
    has_names,    ///< A file with several hard links: another user may have made this one.
};

/// Classifies the entry `there` of a directory with the status `directory`, for the user `own`.
[[nodiscard]] ForeignEntry foreign_entry_in(const struct stat& directory,
                                            const struct stat& there,
                                            uid_t own);

/// The exceptions under which an entry is trusted nevertheless.
struct ForeignEntryTolerance {
    uid_t own = ::geteuid();
    bool is_writable = false;
    bool has_names = false;
};

/// Fails (Blame::user) if the entry `there` of `directory` (a descriptor) is not trusted.
/// `path` is the entry's path, for the message.
[[nodiscard]] Status refuse_foreign_entry(int directory,
                                          const struct stat& there,
                                          const std::string& path,
                                          const ForeignEntryTolerance& tolerance = {});

/// Fails (Blame::user) unless `directory` (a descriptor) is this user's alone, wherever it is:
/// the directory and all its entries belong to this user, and neither its group nor others can
/// write it.
[[nodiscard]] Status check_own_directory(int directory, const std::string& path);

}  // namespace stage
