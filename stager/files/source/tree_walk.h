// Lists all members of a directory tree.
//
// The tree is walked once, with the caller's own rights: a member that cannot be read, or is
// neither file, directory nor link, is reported now and not during a broadcast. It is walked
// directory by directory, by descriptors, without following links (but for those that a
// TreeChoice names), and with few of them open at a time.
#pragma once

#include "stager/content/source_stamp.h"
#include "stager/files/manifest/tree_index.h"
#include "stager/files/source/held_members.h"
#include "stager/files/source/tree_choice.h"
#include "transport/os/unique_fd.h"

#include <set>
#include <string>
#include <vector>

namespace stage {

/// Counts members that a user may miss in the copy.
struct Remark {
    std::uint64_t count = 0;
    std::string first{};  ///< The path of one of them.

    void add(const std::string& path) { first = count++ == 0 ? path : first; }
};

struct WalkedTree {
    TreeIndex index;
    std::uint16_t set_id = 0;  ///< The set-id bits of all its files together.
    FileTime newest{};         ///< The latest mtime of its members and itself.
    TreeStamper stamper;
    HeldMembers held;
    std::set<std::uint32_t> followed{};  ///< The nodes that are links, taken as their targets.
    Remark sockets{};                    ///< Left out.
    Remark devices{};                    ///< Left out, as asked for; pipes, too.
    Remark outward{};                    ///< Links that lead out of the tree, and stay links.
};

/// A tree whose names change during the walk is walked again, a few times. If they still
/// change, new files are left out, but it fails if the list might lack a member that moved from
/// one directory to another.
///
/// `top` is the open directory (O_PATH suffices), `path` its name in messages. The tree takes
/// of `room` what it holds; without it the tree holds nothing.
[[nodiscard]] Result<WalkedTree> walk_tree(const UniqueFd& top,
                                           const std::string& path,
                                           const TreeChoice& choice = {},
                                           HeldRoom* room = nullptr);

}  // namespace stage
