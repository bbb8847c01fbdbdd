// Unpacks an archive, member by member, while it still arrives.
//
// What archive_reader.h finds goes to the tree (unpack_tree.h), which judges where it may come.
#pragma once

#include "stager/files/archive/arrived_bytes.h"
#include "stager/files/archive/unpack_tree.h"

#include <string>

namespace stage {

/// All of it, to the last member. `name` is the archive's, for sentences; `mtime` its time,
/// which the top gets and every member that has none of its own.
[[nodiscard]] Status unpack(ArrivedBytes& bytes,
                            UnpackTree& tree,
                            const std::string& name,
                            const FileTime& mtime);

}  // namespace stage
