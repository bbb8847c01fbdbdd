// What is in this directory, all the way down?
//
// Walked once, with the caller's own rights: what can't be read, and what is neither file,
// directory nor link, is named now and not in the middle of a broadcast. Directory by
// directory, by descriptors that no link leads away from; at most a few are open at a time.
#pragma once

#include "stager/content/source_stamp.h"
#include "stager/files/manifest/tree_index.h"
#include "transport/os/unique_fd.h"

#include <string>

namespace stage {

struct WalkedTree {
    TreeIndex index;
    std::uint16_t set_id = 0;  ///< Set-id bits that any of its files has.
    FileTime newest{};         ///< The latest mtime of all that is in it, itself included.
    TreeStamper stamper{std::chrono::system_clock::now().time_since_epoch()};
};

/// A tree in which names come and go while it is walked is walked again, a few times. Fails if
/// it still does: the list might lack what only moved from one directory to another.
///
/// `top` is the open directory (O_PATH will do), `path` what sentences call it.
/// `is_ownerless`: all as if it were root's own (attributes.h: without_owner()).
[[nodiscard]] Result<WalkedTree> walk_tree(const UniqueFd& top,
                                           const std::string& path,
                                           bool is_ownerless = false);

}  // namespace stage
