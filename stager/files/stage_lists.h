// What did a stage leave, and what must go with it?
//
// Two lists in ".stagecast" below the stage's directory, each entry ended by a NUL:
//
//     files    where the files are, absolute, for the job's own use
//     remove   what lies outside the directory and must be removed with it: what is staged
//              with `temp`, and while a worker is at work its temporary files, so that even one
//              that was killed leaves nothing behind; a directory's name ends in a slash
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

/// Removes what the list `remove` below `directory` (a descriptor) names, and those of its
/// steps' directories: files, and what is said to be a directory with all that is in it, by
/// absolute paths. To be called as the user. Gives how many were removed.
std::size_t remove_listed(int directory);

/// What one such list names, open as `list`. As the user, too.
std::size_t remove_by_list(int list);

}  // namespace stage
