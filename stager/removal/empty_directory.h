// Empties a directory whose owner may have prepared it as a trap for root.
//
// All steps use descriptors. A name is looked up only in an open directory, links are unlinked
// and never followed, mounts are never entered, and the way back up is taken only if it leads
// to the directory that was left. Root enters only directories of its job's user,
// and of that user's subordinate uids (subordinate_ids.h): a directory of another user may have
// been moved here by a user who could not have emptied it.
#pragma once

#include "stager/removal/subordinate_ids.h"
#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace stage {

/// Identifies an open directory and the mount that it is on.
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

/// Opens a directory for reading, and no link. A directory of our own that forbids reading is
/// made readable by chmod.
[[nodiscard]] UniqueFd open_to_empty(int parent, const char* name);

/// Removes everything in the open directory `top`, with the rights of this process; directories
/// of our own that forbid it are made writable by chmod. Continues after a failure and returns
/// the first error. With `only_of`, no directory of another uid is entered, `top` included;
/// the error's cause() is then EPERM.
Status empty_directory(int top, const std::optional<UidRanges>& only_of = std::nullopt);

/// Removes `name` in the open directory, whatever it is, with everything in it. Succeeds if
/// there is no such entry.
Status remove_entry(int directory, const std::string& name);

}  // namespace stage
