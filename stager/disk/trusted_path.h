// How does one come back to a directory that was written to a while ago, past links that
// somebody has planted on the way since?
//
// Component by component. A symbolic link is followed only if it is root's in a directory where
// nobody else could have put it (a site's /scratch -> /local/scratch); any other is the end.
#pragma once

#include "transport/os/unique_fd.h"

#include <string>

namespace stage {

/// The directory at `path`, absolute, as a place (O_PATH). Nothing, with errno, if it can't be
/// reached so.
[[nodiscard]] UniqueFd open_trusted_path(const std::string& path);

/// Removes the directory at `path`, absolute, if it is empty.
void remove_if_empty(const std::string& path);

}  // namespace stage
