// How many bytes of staged files may this node's memory keep?
//
// What was staged is about to be read, so its pages are worth their memory, up to half of what
// is free: of the node, and of the control groups (v1 or v2) that this process is in, whose
// limits count pages, too. What goes beyond that is let go once it is on the disk
// (drop_behind.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

namespace stage {

/// As many as may be.
inline constexpr std::uint64_t kAllPages = std::numeric_limits<std::uint64_t>::max();

/// Bytes, now. `root`: where /proc and /sys are; kAllPages where they tell nothing.
[[nodiscard]] std::uint64_t page_room(const std::string& root = "");

/// One room for several files: who comes first takes first, and the next has what is left.
class PageShares {
  public:
    explicit PageShares(std::uint64_t room) : left_{room} {}

    /// How many of its first bytes a file of so many may keep.
    [[nodiscard]] std::uint64_t take(std::uint64_t bytes) {
        const std::uint64_t share = left_;
        left_ -= left_ == kAllPages ? 0 : std::min(left_, bytes);
        return share;
    }

  private:
    std::uint64_t left_;
};

}  // namespace stage
