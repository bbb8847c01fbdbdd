// Finds the data extents and holes of a file.
//
// It asks the file system (SEEK_DATA, SEEK_HOLE). If the file system cannot report holes, the
// file is treated as having none.
#pragma once

#include "stager/files/manifest/tree_node.h"

#include <optional>
#include <vector>

namespace stage {

/// Returns the data extents of an open file, or nothing if it has no known holes. If there are
/// more than `most` extents, the smallest holes are treated as data.
[[nodiscard]] std::optional<std::vector<TreeExtent>> extents_of(
    int fd, std::uint64_t size, std::size_t most = kMaxTreeExtents);

/// True if all bytes from `offset` to `end` of an open file are zero. Returns false with errno
/// 0 if they are not, or with the errno of a failed read.
[[nodiscard]] bool is_zero(int fd, std::uint64_t offset, std::uint64_t end);

}  // namespace stage
