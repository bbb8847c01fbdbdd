// Recognises a source file that was read before, by a digest of its metadata.
//
// The stamp covers path, inode, size, mtime and ctime. It is the same on every node that mounts
// the same file system; the device number is left out because each node assigns its own.
// Writing to a file changes its ctime, which only the kernel can set. A file that changed a
// moment ago has no stamp, because its next change might leave the times as they are.
#pragma once

#include "stager/content/sha256.h"
#include "transport/base/units.h"

#include <sys/stat.h>

#include <chrono>
#include <optional>
#include <string>

namespace stage {

using SourceStamp = Sha256Digest;

/// A younger change may share its timestamps with the next one.
inline constexpr std::chrono::seconds kStampAgeMin{2};

/// True if a file system of this type (statfs(2), f_type) records changes reliably. In a file
/// system image the ctime is the mtime or a constant, so two versions of the image may agree in
/// all that a stamp covers. A user's own file system (FUSE) may report anything.
[[nodiscard]] bool tells_changes(std::uint64_t type);
/// Returns what a stamp of an open file includes about its file system. For an overlay that is
/// the node's boot, since the image below it may be another one after a reboot; for other file
/// systems it is empty. Returns nothing if the file system does not record changes.
[[nodiscard]] std::optional<std::string> stamp_ground(int fd);

/// `status` is that of the open file, `now` the time of day on the clock of the file's times.
[[nodiscard]] std::optional<SourceStamp> stamp_of(const std::string& path,
                                                  const struct stat& status,
                                                  std::chrono::nanoseconds now,
                                                  const std::string& ground = "");

/// Computes the stamp of a directory tree from all its members, in the order of a walk, and
/// from the index of the tree. The tree has no stamp if one member changed a moment ago or is
/// on another file system than the first member.
class TreeStamper {
  public:
    /// `begun`: the time at which the walk began.
    explicit TreeStamper(std::chrono::nanoseconds begun) : begun_{begun} {}

    void add(const struct stat& status);
    /// `index` describes the tree's members; with their data it is all that is sent.
    [[nodiscard]] std::optional<SourceStamp> stamp(const std::string& path,
                                                   Bytes index,
                                                   const std::string& ground = "") const;

  private:
    std::chrono::nanoseconds begun_;
    std::optional<dev_t> device_;
    bool has_stamp_ = true;
    Sha256 members_;  ///< Covers inode and times of each member.
};

}  // namespace stage
