// Where is the list of what must go with a stage, when the job has emptied its directory?
//
// The worker writes it below the stage's directory (files/stage_lists.h), which is the user's
// to empty. Once the stage is good, and before the job runs, that list gets a second name where
// only root can take it away:
//
//     StageRoot/.stagecast/JOB            of the job
//     StageRoot/.stagecast/JOB.step.N     of a step
//     StageRoot/.stagecast/X.of.Y         of Y, which is over, while X uses what it lists
//
// Root gives and removes names and opens the file; it is read by a process of the user's rights
// only, as its content is the user's word still. The directory is there while a list is.
#pragma once

#include "transport/base/unique_fd.h"

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

namespace stage {

/// `path`: the directory of the stage as names below the open StageRoot, {"42", "step.3"}.
/// Where there is no list nothing happens; nor where the file system has no second names.
void keep_remove_list(int root, const std::vector<std::string>& path);

/// The list of that stage, and of a job those of its steps, open for reading. Files of `owner`
/// only: whatever else has such a name is not opened.
[[nodiscard]] std::vector<UniqueFd> open_kept_lists(int root,
                                                    const std::vector<std::string>& path,
                                                    uid_t owner);

/// A stage's name here: "42.step.3".
[[nodiscard]] std::string kept_name(const std::vector<std::string>& path);

/// The lists of that stage become those of the heirs, too.
void bequeath_kept_lists(int root,
                         const std::vector<std::string>& path,
                         const std::vector<std::string>& heirs);

/// Nothing of them was in use: the heirs have them no more.
void disinherit_kept_lists(int root,
                           const std::vector<std::string>& path,
                           const std::vector<std::string>& heirs);

/// Where the heirs' files are, by their own lists (kFilesList), open for reading: those that
/// are there, and of `owner`.
[[nodiscard]] std::vector<UniqueFd> open_files_lists(int root,
                                                     const std::vector<std::string>& heirs,
                                                     uid_t owner);

/// The lists of that stage have done their duty.
void forget_kept_lists(int root, const std::vector<std::string>& path);

}  // namespace stage
