// Detaches what a user has mounted over a job's files, at the job's end.
//
// A user may mount a file system of their own over any directory of theirs (fusermount(1)), and
// what lies below it can then not be removed: it would keep its disk space beyond the job.
// stagecastd has no right to unmount anything; slurmd, in which the plugin runs, has.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace stage {

/// How long detach_user_mounts() begins to detach another mount.
inline constexpr Duration kDetachTime = std::chrono::seconds{5};

/// Detaches (umount2(2), MNT_DETACH) every mount at or below `stage_root`/`job_id`, and those
/// over the directories of PMIx hosts (`stage_root`/.host.N), which have no use at all. No
/// mounted file system is entered or asked, since its server may never answer. No symbolic link
/// is followed. The job's own mounts go first. One that can't be detached keeps no other one;
/// the last such failure is returned.
[[nodiscard]] Status detach_user_mounts(const std::string& stage_root, std::uint32_t job_id);

}  // namespace stage
