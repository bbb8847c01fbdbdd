// Re-opens a directory safely although another user may have replaced components of its path.
//
// The path is opened component by component. A symbolic link is followed only if it belongs to
// root and lies in a directory where no other user could have made it (a site's /scratch ->
// /local/scratch); at any other link the function fails.
#pragma once

#include "transport/os/unique_fd.h"

#include <string>

namespace stage {

/// Opens the directory at the absolute `path` with O_PATH. Returns an empty descriptor, with
/// errno, if a component is missing or not trusted.
[[nodiscard]] UniqueFd open_trusted_path(const std::string& path);

/// Removes the directory at the absolute `path` if it is empty.
void remove_if_empty(const std::string& path);

}  // namespace stage
