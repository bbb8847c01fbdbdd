// Whose is a file, what may be done with it, when was it written: how is that kept?
//
// As far as the caller may: a user can give a file to a group of theirs, root to anybody. Who
// can't keep the owner or group must not keep the bits that lend their rights; who can't keep
// an ACL must not keep the rights of its mask, which stand where the group's do. A file system
// that knows no attributes, has no room for one or knows no such times goes without.
#pragma once

#include "stager/files/manifest/tree_node.h"

#include <sys/types.h>

#include <string>

namespace stage {

struct OwnerAndMode {
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    std::uint16_t mode = 0;  ///< 07777.
};

/// Bits by which a program gets the rights of its owner or group.
inline constexpr std::uint16_t kSetIdBits = 06000;

/// `node` as root's own: without owner, group, ACLs (and the rights that their mask gave, which
/// stand where the group's do) and set-id bits.
[[nodiscard]] TreeNode without_owner(TreeNode node);

/// Why a file with set-id bits is refused where owners are not kept.
[[nodiscard]] Error set_id_refused(const std::string& path);

/// As whom files are made, asked once for many of them.
struct Maker {
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    std::uint16_t umask = 0777;

    /// This process; all of it masked where it can't say.
    [[nodiscard]] static Maker self();
    /// A file made with the node's mode has all that is to be kept of it but the time.
    [[nodiscard]] bool makes(const TreeNode& node) const;
};

/// On an open file or directory that was just made: what the place gives to all that is made
/// in it, an ACL or a group, is not what is staged there.
void clear_inherited_acl(int fd);

/// On an open file or directory.
void keep_owner_and_mode(int fd, const OwnerAndMode& wanted);

/// On an open file or directory: all attributes but ACLs. The kernel wants the right to write
/// by the mode for them, so this comes before a mode that gives none. False and errno if there
/// is no room.
[[nodiscard]] bool keep_user_attributes(int fd, const TreeNode& node);

/// On the node's own file or directory, open: owner, mode, attributes, mtime. `is_made`: it has
/// its owner, its mode and its attributes but ACLs. False and errno if there is no room.
[[nodiscard]] bool keep_attributes(int fd, const TreeNode& node, bool is_made = false);

/// Of what is called `name` in the open directory, itself if it is a link. What can't be read
/// is not there.
[[nodiscard]] std::vector<TreeAttribute> read_attributes(int directory,
                                                         const std::string& name);

/// The same of an open file.
[[nodiscard]] std::vector<TreeAttribute> read_attributes(int fd);

/// The group's own rights (0..7) under this ACL's mask; nothing if it is no ACL.
[[nodiscard]] std::optional<unsigned> group_rights(Bytes acl);

}  // namespace stage
