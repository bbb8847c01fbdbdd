// Makes and checks the directories that hold the files of jobs and steps.
//
// A job has StageRoot/JOBID, mode 0700, owned by the job's user; a step has step.N below it.
// Root makes the job's directory and never touches its contents. Each component of the path is
// opened by descriptor, no component of StageRoot may be a symbolic link or belong to another
// user than root, and a step's directory, which lies inside a directory of the user, is made
// with the user's rights.
#pragma once

#include "stager/control/message.h"
#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace stage {

/// Returns a descriptor of StageRoot. It must be a directory of root, below directories of root
/// that no other user can change, and not on tmpfs, ramfs, overlay or a network file system
/// unless `allow_ram`. Makes it (0711) if only its last component is missing. Fails
/// (Blame::node) with the condition that is not met.
[[nodiscard]] Result<UniqueFd> open_stage_root(const std::string& path, bool allow_ram);

/// Fails (Blame::node) if only root can enter a directory on the absolute path of StageRoot, or
/// StageRoot itself: no user could reach a job's directory.
[[nodiscard]] Status check_users_way(const std::string& stage_root);

/// Opens a StageRoot from which files are to be removed. Unlike open_stage_root() it makes
/// nothing, and accepts any file system.
[[nodiscard]] Result<UniqueFd> find_stage_root(const std::string& path);

/// "42", or "42" and "step.3": the components below StageRoot.
[[nodiscard]] std::vector<std::string> directory_names(std::uint32_t job_id,
                                                       std::uint32_t step_id);

struct Owner {
    uid_t uid = 0;
    gid_t gid = 0;
};

/// Makes StageRoot/JOBID, or accepts an existing directory of `owner`. A directory of another
/// user is of a job that Slurm has forgotten, for no two jobs have one number at a time: it is
/// set aside (spawn/cleanup_lists.h). Fails with cause() EEXIST if something else has that
/// name.
[[nodiscard]] Status make_job_directory(int root, std::uint32_t job_id, Owner owner);
/// Makes step.N in the job's directory, which must exist, as the user. Fails with Blame::user.
[[nodiscard]] Status make_step_directory(int root,
                                         std::uint32_t job_id,
                                         std::uint32_t step_id,
                                         Owner owner);

/// The owner of StageRoot/JOBID. Fails with cause() ENOENT if there is no directory of that
/// name, and EXDEV if a file system is mounted there.
[[nodiscard]] Result<Owner> owner_of(int root, std::uint32_t job_id);
/// The owner of the directory `name` in `above`. Fails as above.
[[nodiscard]] Result<Owner> owner_of(int above, const std::string& name);
/// Whether the directory is known not to exist; another failure says nothing.
[[nodiscard]] bool is_gone(const Result<Owner>& owner);

/// Directories in `directory` whose names are decimal numbers: the jobs in StageRoot.
[[nodiscard]] std::vector<std::string> numbered_directories(int directory);

}  // namespace stage
