// What is in an archive, member by member, while it still arrives?
//
// libarchive reads it: a tar from front to back, plain or compressed by gzip, zstd, xz, bzip2
// or lz4; a zip once its end is here, where its directory is, because only that tells modes and
// links. What it finds goes to the tree (unpack_tree.h), which judges where it may come.
#pragma once

#include "stager/files/arrived_bytes.h"
#include "stager/files/unpack_tree.h"

#include <string>

namespace stage {

/// All of it, to the last member. `name` is the archive's, for sentences; `mtime` its time,
/// which the top gets and every member that has none of its own.
[[nodiscard]] Status unpack(ArrivedBytes& bytes,
                            UnpackTree& tree,
                            const std::string& name,
                            const FileTime& mtime);

}  // namespace stage
