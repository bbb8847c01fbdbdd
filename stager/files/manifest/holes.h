// Which bytes of a file are data, and which only holes?
//
// As the file system tells (SEEK_DATA, SEEK_HOLE). One that can't say has no holes.
#pragma once

#include "stager/files/manifest/tree_node.h"

#include <optional>
#include <vector>

namespace stage {

/// The data of an open file, if it has holes that can be told. Where they are too many, the
/// smallest are told as data.
[[nodiscard]] std::optional<std::vector<TreeExtent>> extents_of(
    int fd, std::uint64_t size, std::size_t most = kMaxTreeExtents);

/// There is nothing but zeros from `offset` to `end` of an open file. False and errno 0 where
/// something else is, or with what kept it from being read.
[[nodiscard]] bool is_zero(int fd, std::uint64_t offset, std::uint64_t end);

}  // namespace stage
