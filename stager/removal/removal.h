// Removes the files that ended stages left outside their directories, unless other stages use
// them.
//
// It follows cleanup lists (cleanup_entry.h). The lists of one user are the reference counts of
// that user's paths: a path in the list of another stage is in use. Such a file is not removed;
// its entry moves to the other list, and so to the end of the other stage.
#pragma once

#include "transport/os/unique_fd.h"

#include <cstddef>
#include <string>
#include <vector>

namespace stage {

/// The result of following some lists.
struct Removed {
    std::size_t count = 0;      ///< The files and directories that were removed.
    std::size_t passed_on = 0;  ///< The entries in use that moved to other lists.
    std::string why_kept;  ///< Not removed, for a reason that may pass: follow the lists again.
    std::string why_stays;  ///< Not removed, for a permanent reason.
};

/// Follows the lists `own` of stages that have ended; they are open for reading. `others` are
/// the lists of the same user's other stages, open for reading and appending. The caller must
/// run as that user, because the user's processes write the entries, and must not follow
/// several lists of one user at the same time.
Removed follow_cleanup_lists(const std::vector<UniqueFd>& own,
                             const std::vector<UniqueFd>& others);

}  // namespace stage
