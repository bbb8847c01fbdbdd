// Where is the list of what must go with a stage, when the job has emptied its directory?
//
// The worker writes it below the stage's directory (files/stage_lists.h), which is the user's
// to empty. Once the stage is good, and before the job runs, that list gets a second name where
// only root can take it away:
//
//     StageRoot/.stagecast/JOB            of the job
//     StageRoot/.stagecast/JOB.step.N     of a step
//     StageRoot/.stagecast/X.of.Y.N       of Y, which is over, while X may use what it lists;
//                                         N is the list's inode: Y may have had several lives
//
// Root gives and removes names and opens the file; it is read by a process of the user's rights
// only, as its content is the user's word still. The directory is there while a list is.
#pragma once

#include "transport/base/unique_fd.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace stage {

/// `path`: the directory of the stage as names below the open StageRoot, {"42", "step.3"}.
/// Where there is no list nothing happens; nor where the file system has no second names.
void keep_remove_list(int root, const std::vector<std::string>& path);

/// Names of the lists of that stage, and of a job those of its steps, here.
[[nodiscard]] std::vector<std::string> kept_lists(int root,
                                                  const std::vector<std::string>& path);
/// Of one of these, for reading. Nothing if it is not a file of `owner`'s.
[[nodiscard]] UniqueFd open_kept_list(int root, const std::string& name, uid_t owner);

struct ListOwner {
    uid_t uid = 0;
    gid_t gid = 0;
};
/// Whose lists of that stage there are, if any are.
[[nodiscard]] std::optional<ListOwner> owner_of_kept_lists(
    int root, const std::vector<std::string>& path);
/// Jobs that have lists here.
[[nodiscard]] std::set<std::uint32_t> jobs_with_kept_lists(int root);

/// A stage's name here: "42.step.3".
[[nodiscard]] std::string kept_name(const std::vector<std::string>& path);

/// The lists of that stage become those of the heirs, too.
void bequeath_kept_lists(int root,
                         const std::vector<std::string>& path,
                         const std::vector<std::string>& heirs);
/// Nothing of this one was in use: the heirs have it no more.
void disinherit_kept_list(int root,
                          const std::string& name,
                          const std::vector<std::string>& heirs);
/// It has done its duty.
void forget_kept_list(int root, const std::string& name);

}  // namespace stage
