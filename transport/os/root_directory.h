// Opens a directory that only root can have created and only root can replace.
//
// It goes component by component from "/". Each is a directory of root's that no other user can
// write to (above the last one a sticky directory may be writable by all, because no other user
// can rename root's entry there), and none is a symbolic link. So the checked path stays valid,
// and a later open() of the same path reaches the same directory.
#pragma once

#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

#include <string>

namespace stage {

/// "KEY: PATH WHY", with what to do about it; `key` is the configuration's.
[[nodiscard]] Error unfit_directory(const std::string& key,
                                    const std::string& path,
                                    const std::string& why,
                                    const std::string& remedy);

/// A descriptor of `path` (O_RDONLY). `makes_last`: its last component is made, mode 0711, if
/// only that is missing. Fails (Blame::node) naming key, component, cause and remedy.
[[nodiscard]] Result<UniqueFd> open_root_directory(const std::string& key,
                                                   const std::string& path,
                                                   bool makes_last);

}  // namespace stage
