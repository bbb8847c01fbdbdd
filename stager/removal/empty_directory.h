// Empties a directory whose owner may have filled it with traps.
//
// By descriptors: a name is looked up only in an open directory, links are unlinked and never
// followed, a mount is never entered, and the way back up is taken only if it leads to the very
// directory that one came from. Root enters only directories of the user for whom it acts: a
// directory of another user may have been moved here by someone who could not have emptied it.
#pragma once

#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace stage {

/// Which directory an open one is, and on which mount.
struct DirectoryPlace {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t mount = 0;
    uid_t owner = 0;
    mode_t mode = 0;

    [[nodiscard]] bool same_directory(const DirectoryPlace& other) const {
        return device == other.device && inode == other.inode;
    }
    [[nodiscard]] bool same_mount(const DirectoryPlace& other) const {
        return device == other.device && mount == other.mount;
    }
};

[[nodiscard]] std::optional<DirectoryPlace> place_of(int fd);

/// For reading, no link; one of our own that forbids it is opened up by chmod.
[[nodiscard]] UniqueFd open_to_empty(int parent, const char* name);

/// Removes all that is in the open directory `top`, as whoever we are; directories of our own
/// that forbid it are opened up by chmod. Goes on after a failure; the first one is the error.
/// `only_of`: no directory of another user is entered, `top` included; the error's cause() is
/// EPERM then.
Status empty_directory(int top, std::optional<uid_t> only_of = std::nullopt);

/// Removes `name` in the open directory, whatever it is, with all that is in it. What is not
/// there is fine.
Status remove_entry(int directory, const std::string& name);

}  // namespace stage
