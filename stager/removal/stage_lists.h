// Writes the list of a stage's files for the job's own use.
//
// ".stagecast/files" below the stage's directory contains the absolute path of each file, ended
// by a NUL. The directory belongs to the user, so stagecast never reads the list. (Files to be
// removed with the stage are in root's cleanup list, spawn/cleanup_lists.h.)
// with the stage is in root's cleanup list, spawn/cleanup_lists.h.)
#pragma once

#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

#include <string>
#include <vector>

namespace stage {

inline constexpr const char* kListDirectory = ".stagecast";
inline constexpr const char* kFilesList = "files";

/// Opens directory/.stagecast with O_PATH, and makes it and `directory` if they are missing.
/// Neither may be a symbolic link.
[[nodiscard]] Result<UniqueFd> open_list_directory(const std::string& directory);

/// Writes directory/.stagecast/files completely or not at all; an empty list is removed.
/// `directory` is made if it is missing. It must not be a symbolic link, and no link below it
/// is followed.
[[nodiscard]] Status write_files_list(const std::string& directory,
                                      const std::vector<std::string>& paths);

}  // namespace stage
