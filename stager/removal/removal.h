// Removes what ended stages left outside their directories, except what other stages use.
//
// By cleanup lists (cleanup_entry.h). The lists of one user are the reference counts of the
// user's paths: a path that the list of another stage has is in use. What is in use is not
// removed; its entry passes on to that list, and so to the end of that stage.
#pragma once

#include "transport/os/unique_fd.h"

#include <cstddef>
#include <string>
#include <vector>

namespace stage {

/// What came of some lists.
struct Removed {
    std::size_t count = 0;      ///< Files and directories that were removed.
    std::size_t passed_on = 0;  ///< In use: other lists have their entries now.
    std::string why_kept;  ///< Not removed, for a reason that may pass: follow the lists again.
    std::string why_stays;  ///< Not removed, and nothing will change that by itself.
};

/// Follows the lists of what has ended, `own`, open for reading. `others`: those of the same
/// user's other stages, open for reading and appending. To be called as that user: the entries
/// are the user's word. Nothing else may follow lists of the same user meanwhile.
Removed follow_cleanup_lists(const std::vector<UniqueFd>& own,
                             const std::vector<UniqueFd>& others);

}  // namespace stage
