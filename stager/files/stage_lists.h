// What did a stage leave, and what must go with it?
//
// Two lists in ".stagecast" below the stage's directory, each entry ended by a NUL:
//
//     files    where the files are, absolute, for the job's own use
//     remove   what lies outside the directory and must be removed with it: what is staged
//              with `temp`, and while a worker is at work its temporary files, so that even one
//              that was killed leaves nothing behind; a directory's name ends in a slash.
//              Before what has its final name stands which file that is, "INODE.TIME:/path":
//              another that takes the name later, of another job perhaps, is not this stage's.
//              (All of it is in removal.h.)
//
// A list `remove` is followed (removal.h) though the job has emptied its directory
// (spawn/kept_lists.h). The directory is the user's, so both lists are hints of the user's:
// only a process with no more than the user's rights may act on them.
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

}  // namespace stage
