// Lists all members of a directory tree.
//
// The tree is walked once, with the caller's own rights: a member that cannot be read, or is
// neither file, directory nor link, is reported now and not during a broadcast. It is walked
// directory by directory, by descriptors, without following links, and with few of them open at
// a time.
#pragma once

#include "stager/content/source_stamp.h"
#include "stager/files/manifest/tree_index.h"
#include "transport/os/unique_fd.h"

#include <string>

namespace stage {

struct WalkedTree {
    TreeIndex index;
    std::uint16_t set_id = 0;  ///< The set-id bits of all its files together.
    FileTime newest{};         ///< The latest mtime of its members and itself.
    TreeStamper stamper{std::chrono::system_clock::now().time_since_epoch()};
};

/// A tree whose names change during the walk is walked again, a few times. Fails if it still
/// changes: the list might lack a member that moved from one directory to another.
///
/// `top` is the open directory (O_PATH suffices), `path` its name in messages. `is_ownerless`:
/// lists all members as root's own (attributes.h: without_owner()).
[[nodiscard]] Result<WalkedTree> walk_tree(const UniqueFd& top,
                                           const std::string& path,
                                           bool is_ownerless = false);

}  // namespace stage
