// Compares a file that exists already with the bytes of the source as they arrive.
//
// Each function returns nothing, with errno, if the file could not be read.
#pragma once

#include "stager/files/manifest/tree_node.h"
#include "transport/base/units.h"

#include <cstdint>
#include <optional>

namespace stage {

/// True if the open file `file` has `bytes` where `node`, the source's file, has them from
/// `offset` on in what is sent of it.
[[nodiscard]] std::optional<bool> has_bytes(int file,
                                            const TreeNode& node,
                                            std::uint64_t offset,
                                            Bytes bytes);
/// True if the open file `file` has nothing but zeros where `node` has holes.
[[nodiscard]] std::optional<bool> has_holes(int file, const TreeNode& node);

}  // namespace stage
