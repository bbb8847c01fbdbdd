// Opens the directory of a destination safely, below a root that the site allows.
//
// The root (the job's stage directory, or one of DestRoots) is opened as it is, or, for root's
// own files, only if no other user can have placed it. From there the path is opened component
// by component with O_NOFOLLOW: no symbolic link below the root is followed and ".." is
// refused, so the result lies where the site allows. A directory that another user may have
// placed is refused (foreign_entry.h). Directories are held as descriptors, and every later
// call is relative to one.
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

/// Describes the place of a file.
struct TargetPlace {
    std::string root;   ///< Absolute; may contain links, since it comes from a trusted party.
    std::string below;  ///< The file's path below it: "input.dat", "a/b/input.dat".
    bool makes_directories = false;  ///< Make missing directories below the root.
    /// Records the made directories, if they are outside the stage's own directory. May be
    /// null.
    std::shared_ptr<MadeDirectories> made{};
    bool refuses_network = false;  ///< A network file system is an error.
    /// The directory must be this user's alone (foreign_entry.h), and is made if missing.
    bool is_of_libraries = false;
    /// Not empty: the key that names `root`, which only root may have placed
    /// (root_directory.h).
    std::string guarded_by{};

    /// For instance "/root/a/b/input.dat".
    [[nodiscard]] std::string path() const;
    /// For instance "input.dat".
    [[nodiscard]] std::string name() const;
};

/// A directory that was made for its content. The destructor removes it if it is empty.
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

/// An open directory (O_PATH).
struct TargetDirectory {
    UniqueFd fd;
    std::uint64_t device = 0;
    std::uint64_t free_bytes = 0;  ///< Available to this caller when it was opened.
    std::uint64_t free_inodes = 0;
    bool is_noexec = false;                 ///< Mounted so that nothing there can be executed.
    bool has_other_writers = false;         ///< Users who may make files in it.
    std::shared_ptr<MadeDirectory> made{};  ///< A directory of libraries that was missing.
};

/// Opens the directory that contains `place`. Fails with an error that names the file.
[[nodiscard]] Result<TargetDirectory> open_target_directory(const TargetPlace& place);

/// The name of a file system that many nodes share, such as "NFS", by its statfs type; empty
/// for other types.
[[nodiscard]] std::string_view network_file_system(std::uint64_t type);

}  // namespace stage
