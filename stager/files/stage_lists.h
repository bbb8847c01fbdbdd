// What did a stage leave, and what must go with it?
//
// Two lists in ".stagecast" below the stage's directory, each entry ended by a NUL:
//
//     files    where the files are, or are going to be, absolute: for the job's own use, and
//              for whoever would remove one of them
//     remove   what lies outside the directory and must be removed with it: what is staged
//              with `temp`, and while a worker is at work its temporary files, so that even one
//              that was killed leaves nothing behind; a directory's name ends in a slash.
//              Before what has its final name stands which file that is, "INODE.TIME:/path":
//              another that takes the name later, of another job perhaps, is not this stage's
//
// Several jobs of a user may have found the same file in its place. So what others use (`used`)
// is not removed; the list of it has become theirs, too (spawn/kept_lists.h).
//
// A list `remove` is followed though the job has emptied its directory (spawn/kept_lists.h).
//
// The directory is the user's, so both lists are hints of the user's: only a process with no
// more than the user's rights may act on them.
#pragma once

#include "transport/base/result.h"

#include <string>
#include <vector>

namespace stage {

inline constexpr const char* kListDirectory = ".stagecast";
inline constexpr const char* kFilesList = "files";
inline constexpr const char* kRemoveList = "remove";

/// Writes `list` below directory/.stagecast, whole or not at all. An empty list is removed if
/// it exists. `directory` is made if it is missing; it must not be a symbolic link, and none
/// below it is followed.
[[nodiscard]] Status write_stage_list(const std::string& directory,
                                      const std::string& list,
                                      const std::vector<std::string>& paths);

/// Adds `path` to `list`, which is made if there is none.
[[nodiscard]] Status add_to_stage_list(const std::string& directory,
                                       const std::string& list,
                                       const std::string& path);

/// The entry for what stands at `path` and is open as `own`; a directory's path ends in a
/// slash.
[[nodiscard]] std::string removal_of(const std::string& path, int own);

/// Absolute paths: each is used, with all that is below it.
using UsedPaths = std::vector<std::string>;

/// What came of a list.
struct Removed {
    std::size_t count = 0;     ///< That were removed.
    std::size_t withheld = 0;  ///< That are there, but used.
};

/// Removes what the list `remove` below `directory` (a descriptor) names, and those of its
/// steps' directories: files, and what is said to be a directory with all that is in it, by
/// absolute paths. To be called as the user.
Removed remove_listed(int directory, const UsedPaths& used = {});

/// What one such list names, open as `list`. As the user, too.
Removed remove_by_list(int list, const UsedPaths& used = {});

/// What the list open as `list` names, of either kind; as the user.
[[nodiscard]] std::vector<std::string> read_stage_list(int list);

}  // namespace stage
