// The list of a stage's files, for the job's own use.
//
// ".stagecast/files" below the stage's directory: where each file is, absolute, ended by a NUL.
// The directory is the user's, so nothing of stagecast reads the list. (What must be removed
// with the stage is in root's cleanup list, spawn/cleanup_lists.h.)
#pragma once

#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

#include <string>
#include <vector>

namespace stage {

inline constexpr const char* kListDirectory = ".stagecast";
inline constexpr const char* kFilesList = "files";

/// Opens directory/.stagecast (O_PATH), which is made if it is missing, and so is `directory`.
/// Neither may be a symbolic link.
[[nodiscard]] Result<UniqueFd> open_list_directory(const std::string& directory);

/// Writes directory/.stagecast/files, whole or not at all. An empty list is removed if it
/// exists. `directory` is made if it is missing; it must not be a symbolic link, and none below
/// it is followed.
[[nodiscard]] Status write_files_list(const std::string& directory,
                                      const std::vector<std::string>& paths);

}  // namespace stage
