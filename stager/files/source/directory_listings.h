// Tells whether the directories of a tree changed after they were listed.
//
// A name that moves from a directory not listed yet to one that is would be in no list. Such a
// move changes the times of both directories, which is looked for once all are listed. A change
// within the file system's time stamp granularity (4 ms on older kernels) behind the listing's
// own look can't be told.
#pragma once

#include "stager/files/manifest/tree_directories.h"

#include <cstdint>
#include <ctime>
#include <optional>
#include <vector>

namespace stage {

class DirectoryListings {
  public:
    /// Directory node `directory`, open as `fd`, is listed next. False and errno: it can't be
    /// looked at.
    [[nodiscard]] bool begin(std::uint32_t directory, int fd);

    /// The first directory that has changed since then, or can't be reached any more.
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
