// Where do a job's files lie, and who could have meddled with the place?
//
// StageRoot/JOBID, mode 0700, the job's user's; a step's files in step.N below it. Root makes
// the first and never touches what is in it: every step of the way is a descriptor, no
// component of StageRoot may be a link or somebody else's, and a step's directory, inside one
// that belongs to the user, is made with the user's rights.
#pragma once

#include "stager/control/message.h"
#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace stage {

/// A descriptor of StageRoot, fit for staging: a directory of root's, reached over directories
/// of root's that nobody else can change, not on tmpfs, ramfs, overlay or a network file system
/// unless `allow_ram`. Made (0755) if only its last component is missing. Fails (Blame::node)
/// naming what is wrong.
[[nodiscard]] Result<UniqueFd> open_stage_root(const std::string& path, bool allow_ram);

/// One that was taken before, for what lies there to be removed: nothing is made, and the file
/// system does not matter.
[[nodiscard]] Result<UniqueFd> find_stage_root(const std::string& path);

/// "42", or "42" and "step.3": names below StageRoot.
[[nodiscard]] std::vector<std::string> directory_names(std::uint32_t job_id,
                                                       std::uint32_t step_id);

struct Owner {
    uid_t uid = 0;
    gid_t gid = 0;
};

/// Makes StageRoot/JOBID, or takes the one that is there if it is a directory of `owner`'s.
/// Fails with cause() EEXIST if there is something else.
[[nodiscard]] Status make_job_directory(int root, std::uint32_t job_id, Owner owner);
/// Makes step.N in it (which must be there), as the user. Fails with Blame::user.
[[nodiscard]] Status make_step_directory(int root,
                                         std::uint32_t job_id,
                                         std::uint32_t step_id,
                                         Owner owner);

/// Whose StageRoot/JOBID is. Fails with cause() ENOENT if there is no directory of that name,
/// and EXDEV if something is mounted there.
[[nodiscard]] Result<Owner> owner_of(int root, std::uint32_t job_id);
/// The same of the directory `name` in `above`.
[[nodiscard]] Result<Owner> owner_of(int above, const std::string& name);
/// There is no such directory; what can't be told is none.
[[nodiscard]] bool is_gone(const Result<Owner>& owner);

/// Directories in `directory` whose names are decimal numbers: jobs in StageRoot.
[[nodiscard]] std::vector<std::string> numbered_directories(int directory);

}  // namespace stage
