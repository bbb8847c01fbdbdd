// Detects directories of a tree that changed after they were listed.
//
// A name that moves from a directory that is not listed yet to a listed one would be in no
// list. Such a move changes the times of both directories, which are checked once all are
// listed. A change that follows the listing within the timestamp granularity of the file system
// (4 ms on older kernels) is not detected.
#pragma once

#include "stager/files/manifest/tree_directories.h"

#include <cstdint>
#include <ctime>
#include <optional>
#include <vector>

namespace stage {

class DirectoryListings {
  public:
    /// Call before directory node `directory`, open as `fd`, is listed. Returns false, with
    /// errno, if its status cannot be read.
    [[nodiscard]] bool begin(std::uint32_t directory, int fd);

    /// The first directory that has changed since then, or cannot be reached any more.
    [[nodiscard]] std::optional<std::uint32_t> find_changed(TreeDirectories& directories) const;

  private:
    struct Listing {
        std::uint32_t directory = 0;
        std::timespec mtime{};
        std::timespec ctime{};
    };

    std::vector<Listing> all_;
};

}  // namespace stage
