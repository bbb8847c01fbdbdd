// Preserves the owner, mode, ACLs, extended attributes and mtime of staged files.
//
// It does so as far as the caller may: a user can give a file to one of their groups, root to
// any user. If the owner or group cannot be kept, the set-id bits are dropped; if an ACL cannot
// be kept, the rights of its mask are dropped, which take the place of the group's rights. If a
// file system has no attributes, no space for one or a coarser time, that is ignored.
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

/// Bits that give a program the rights of its owner or group.
inline constexpr std::uint16_t kSetIdBits = 06000;

/// Returns `node` as root's own: without owner, group, set-id bits and ACLs. The rights of an
/// ACL's mask, which take the place of the group's rights, are dropped too.
[[nodiscard]] TreeNode without_owner(TreeNode node);

/// The error for a file with set-id bits where owners are not kept.
[[nodiscard]] Error set_id_refused(const std::string& path);

/// The credentials under which files are made, queried once for many files.
struct Maker {
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    std::uint16_t umask = 0777;

    /// This process's credentials; umask 0777 if the umask is unknown.
    [[nodiscard]] static Maker self();
    /// True if a file made with the node's mode needs only its time to be set.
    [[nodiscard]] bool makes(const TreeNode& node) const;
};

/// Clears the ACL and group that an open file or directory, which was just made, has inherited
/// from its directory.
void clear_inherited_acl(int fd);

/// Sets owner, group and mode of an open file or directory.
void keep_owner_and_mode(int fd, const OwnerAndMode& wanted);

/// Sets all attributes but ACLs of an open file or directory. The kernel requires write
/// permission by the mode for that, so a read-only mode must be set later. Returns false, with
/// errno, if there is no space.
[[nodiscard]] bool keep_user_attributes(int fd, const TreeNode& node);

/// Sets owner, mode, attributes and mtime of the node's own open file or directory. `is_made`:
/// owner, mode and attributes other than ACLs are set already. Returns false, with errno, if
/// there is no space.
[[nodiscard]] bool keep_attributes(int fd, const TreeNode& node, bool is_made = false);

/// Reads the attributes of `name` in the open directory; of the link itself if it is one.
/// Attributes that cannot be read are skipped.
[[nodiscard]] std::vector<TreeAttribute> read_attributes(int directory,
                                                         const std::string& name);

/// Reads the attributes of an open file.
[[nodiscard]] std::vector<TreeAttribute> read_attributes(int fd);

/// The group's effective rights (0..7) under this ACL's mask; nothing if `acl` is no ACL.
[[nodiscard]] std::optional<unsigned> group_rights(Bytes acl);

}  // namespace stage
