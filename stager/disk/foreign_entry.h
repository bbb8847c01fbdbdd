// Tells whether another user may have placed or changed what stands in a directory.
//
// The rule is the kernel's for fs.protected_regular: in a directory that everybody may write,
// or a sticky one that its group may write, an entry counts only if it belongs to this user or
// to the directory's owner, and not if everybody may write it. In any other directory every
// entry counts: a user who stages into a project's directory trusts those who may write it.
// Where there is an ACL, S_IWGRP is its mask.
//
// An entry that counts goes on to do so in a sticky directory, where nobody else can rename or
// remove it. Without the sticky bit everybody who may write the directory can replace its
// entries at any time, a file that was just staged too.
#pragma once

#include "transport/base/result.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace stage {

enum class ForeignEntry : unsigned char {
    no,
    by_another,   ///< It belongs to neither of the two.
    is_writable,  ///< Everybody may write it. (The mode of a symbolic link says nothing.)
    has_names,    ///< A file with several names: another user may have made this one.
};

/// What `there` is in a directory with the status `directory`, for the user `own`.
[[nodiscard]] ForeignEntry foreign_entry_in(const struct stat& directory,
                                            const struct stat& there,
                                            uid_t own);

/// What counts all the same.
struct ForeignEntryTolerance {
    uid_t own = ::geteuid();
    bool is_writable = false;
    bool has_names = false;
};

/// Fails (Blame::user) if the entry `there` of `directory` (a descriptor) does not count;
/// `path` is the entry's, for the message.
[[nodiscard]] Status refuse_foreign_entry(int directory,
                                          const struct stat& there,
                                          const std::string& path,
                                          const ForeignEntryTolerance& tolerance = {});

/// Fails (Blame::user) unless `directory` (a descriptor) is this user's alone, wherever it is:
/// it and all its entries belong to this user, and neither group nor others may write it.
[[nodiscard]] Status check_own_directory(int directory, const std::string& path);

}  // namespace stage
