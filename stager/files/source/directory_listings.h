// Lists the directories of a tree, and finds those whose names changed since.
//
// A name that moves from a directory that is not listed yet to a listed one would be in no
// list. So once all are listed, a directory with other times is listed again and its names
// compared. The times alone decide nothing: on some file systems they move when a directory is
// read, or are always the present (FUSE, GlusterFS, dCache). A change that follows the listing
// within the timestamp granularity of the file system (4 ms on older kernels) is not detected.
#pragma once

#include "stager/files/manifest/tree_directories.h"
#include "transport/base/checksum.h"

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

namespace stage {

/// The names in an open directory (O_PATH suffices), sorted; nothing, with errno, if they can't
/// be read.
[[nodiscard]] std::optional<std::vector<std::string>> sorted_names(int directory);

class DirectoryListings {
  public:
    /// Lists directory node `directory`, open as `fd`, as sorted_names().
    [[nodiscard]] std::optional<std::vector<std::string>> list(std::uint32_t directory, int fd);

    struct Changed {
        std::uint32_t directory = 0;
        std::vector<std::string> names{};  ///< Its names now.
        bool is_gone = false;              ///< It cannot be reached or read any more.
    };
    /// The directories whose names are no longer those that were listed.
    [[nodiscard]] std::vector<Changed> changed(TreeDirectories& directories) const;

  private:
    struct Listing {
        std::uint32_t directory = 0;
        std::timespec mtime{};
        std::timespec ctime{};
        Digest128 names{};
    };

    std::vector<Listing> all_;
};

}  // namespace stage
