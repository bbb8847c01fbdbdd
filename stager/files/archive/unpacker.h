// Unpacks an archive, entry by entry, while it is still arriving.
//
// The entries that archive_reader.h finds are passed to the tree (unpack_tree.h), which checks
// where each may be placed.
#pragma once

#include "stager/files/archive/arrived_bytes.h"
#include "stager/files/archive/unpack_tree.h"

#include <string>

namespace stage {

/// Unpacks all entries. `name` is the archive's, for messages. `mtime` is its time, which the
/// top and each entry without a time of its own get.
[[nodiscard]] Status unpack(ArrivedBytes& bytes,
                            UnpackTree& tree,
                            const std::string& name,
                            const FileTime& mtime);

}  // namespace stage
