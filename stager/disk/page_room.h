// Computes how many bytes of staged files may stay in this node's page cache.
//
// Staged files are about to be read, so their pages are worth up to half of the free memory:
// that of the node, and that of the control groups (v1 or v2) of this process, whose limits
// include pages. Pages beyond that are dropped once they are on the disk (drop_behind.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

namespace stage {

/// There is no limit.
inline constexpr std::uint64_t kAllPages = std::numeric_limits<std::uint64_t>::max();

/// The bytes that may stay now. `root` is the directory that contains /proc and /sys. Returns
/// kAllPages if they give no information.
[[nodiscard]] std::uint64_t page_room(const std::string& root = "");

/// Divides the bytes that may stay in memory among several files, in the order of the calls.
class PageShares {
  public:
    explicit PageShares(std::uint64_t room) : left_{room} {}

    /// Returns how many of its first bytes a file of `bytes` bytes may keep.
    [[nodiscard]] std::uint64_t take(std::uint64_t bytes) {
        const std::uint64_t share = left_;
        left_ -= left_ == kAllPages ? 0 : std::min(left_, bytes);
        return share;
    }

  private:
    std::uint64_t left_;
};

}  // namespace stage
