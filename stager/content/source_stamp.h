// Is this the file that was read before?
//
// Its path, inode, size, mtime and ctime, as one digest: the same on every node that sees the
// same file system (a device number is not: each node draws its own). Writing to a file changes
// its ctime, which nobody but the kernel sets. A file that was touched a moment ago has no
// stamp: its next change might leave the times as they are.
#pragma once

#include "stager/content/sha256.h"
#include "transport/base/units.h"

#include <sys/stat.h>

#include <chrono>
#include <optional>
#include <string>

namespace stage {

using SourceStamp = Sha256Digest;

/// Younger changes may share their time with the next one.
inline constexpr std::chrono::seconds kStampAgeMin{2};

/// Does a file system of this type (statfs(2), f_type) tell when a file was changed? An image's
/// ctime is its mtime, or a constant: two versions of it may agree in all that a stamp has. So
/// may what a user's own file system (FUSE) says.
[[nodiscard]] bool tells_changes(std::uint64_t type);
/// What a stamp of an open file says of its file system: nothing, or of an overlay, below which
/// may be an image that is another when the node starts anew, which start this is. None: the
/// file system doesn't tell changes.
[[nodiscard]] std::optional<std::string> stamp_ground(int fd);

/// `status`: of the open file. `now`: the time of day, as the file's times.
[[nodiscard]] std::optional<SourceStamp> stamp_of(const std::string& path,
                                                  const struct stat& status,
                                                  std::chrono::nanoseconds now,
                                                  const std::string& ground = "");

/// The same of a directory tree: of all its members, as a walk finds them, and of what is sent
/// of them. One member that changed a moment ago leaves it without a stamp, and so does one of
/// another file system than the first one's.
class TreeStamper {
  public:
    /// `begun`: when the walk began.
    explicit TreeStamper(std::chrono::nanoseconds begun) : begun_{begun} {}

    void add(const struct stat& status);
    /// `index`: what the tree says of its members; with their data it is all that is sent.
    [[nodiscard]] std::optional<SourceStamp> stamp(const std::string& path,
                                                   Bytes index,
                                                   const std::string& ground = "") const;

  private:
    std::chrono::nanoseconds begun_;
    std::optional<dev_t> device_;
    bool is_told_ = true;
    Sha256 members_;  ///< Inode and times of each.
};

}  // namespace stage
