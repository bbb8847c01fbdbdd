// In which directory does a file arrive, and how do we get there past planted links?
//
// From a root that the site names (the job's stage directory, one of DestRoots), opened as it
// stands, or, for root's own files, only if no other user can have placed it; then component by
// component with O_NOFOLLOW: no symbolic link below a root is followed and ".." is refused, so
// that what the site allowed is where we are. A directory that another user may have placed
// there is refused (foreign_entry.h). Directories are held as descriptors, and every later call
// is relative to one.
#pragma once

#include "stager/removal/made_directories.h"
#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace stage {

/// Where a file should arrive.
struct TargetPlace {
    std::string root;  ///< Absolute; may be reached through links: whoever named it is trusted.
    std::string below;               ///< The file below it: "input.dat", "a/b/input.dat".
    bool makes_directories = false;  ///< Those below the root that are not there yet.
    /// And remembers them here, as what is made outside of the stage's own directory. May be
    /// none.
    std::shared_ptr<MadeDirectories> made{};
    bool refuses_network = false;  ///< A network file system there is an error.
    /// Its directory must be this user's alone (foreign_entry.h), and is made if it is missing.
    bool is_of_libraries = false;
    /// Not empty: this key names `root`, which only root may have placed (root_directory.h).
    std::string guarded_by{};

    /// "/root/a/b/input.dat".
    [[nodiscard]] std::string path() const;
    /// "input.dat".
    [[nodiscard]] std::string name() const;
};

/// A directory that was made for what comes into it. Goes with this object if it is empty then.
class MadeDirectory {
  public:
    MadeDirectory(UniqueFd parent, std::string name)
        : parent_{std::move(parent)}, name_{std::move(name)} {}
    MadeDirectory(const MadeDirectory&) = delete;
    MadeDirectory& operator=(const MadeDirectory&) = delete;
    ~MadeDirectory();

  private:
    UniqueFd parent_;
    std::string name_;
};

/// A directory, open as a place (O_PATH).
struct TargetDirectory {
    UniqueFd fd;
    std::uint64_t device = 0;
    std::uint64_t free_bytes = 0;  ///< For this caller, when it was opened.
    std::uint64_t free_inodes = 0;
    std::shared_ptr<MadeDirectory> made{};  ///< Of libraries, if it was not there before.
};

/// Opens the directory that `place` lies in. Fails with a sentence naming the file.
[[nodiscard]] Result<TargetDirectory> open_target_directory(const TargetPlace& place);

/// The name of a file system that many nodes share, "NFS", by its statfs type; empty if it is
/// none of those we know.
[[nodiscard]] std::string_view network_file_system(std::uint64_t type);

}  // namespace stage
