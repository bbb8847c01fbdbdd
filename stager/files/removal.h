// What goes with a stage though it lies elsewhere, and what stays because others use it?
//
// By the list `remove` (stage_lists.h). Several jobs of a user may have found the same file in
// its place: what others use is withheld, and the list of it has become theirs, too
// (spawn/kept_lists.h).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stage {

/// The entry for what stands at `path` and is open as `own`; a directory's path ends in a
/// slash.
[[nodiscard]] std::string removal_of(const std::string& path, int own);

/// The entry of a library: the directory that was made for them goes with the last.
[[nodiscard]] std::string library_removal(const std::string& entry);

/// Absolute paths: each is used, with all that is below it.
using UsedPaths = std::vector<std::string>;

/// What came of a list.
struct Removed {
    std::size_t count = 0;     ///< That were removed.
    std::size_t withheld = 0;  ///< That are there, but used.
};

/// Removes what the list `remove` below `directory` (a descriptor) names, and those of its
/// steps' directories: files, and what is said to be a directory with all that is in it, by
/// absolute paths. To be called as the user.
Removed remove_listed(int directory, const UsedPaths& used = {});

/// What one such list names, open as `list`. As the user, too.
Removed remove_by_list(int list, const UsedPaths& used = {});

}  // namespace stage
