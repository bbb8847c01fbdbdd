#include "stager/files/manifest/attributes.h"

#include "stager/spec/umask.h"
#include "transport/os/unique_fd.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace stage {
namespace {

constexpr const char* kAccessAcl = "system.posix_acl_access";
constexpr const char* kDefaultAcl = "system.posix_acl_default";

/// The kernel's layout (include/uapi/linux/posix_acl_xattr.h): version u32, then entries of
/// tag u16, rights u16, id u32; little-endian.
constexpr std::size_t kAclHeadBytes = 4;
constexpr std::size_t kAclEntryBytes = 8;
constexpr unsigned kAclGroup = 0x04;
constexpr unsigned kAclMask = 0x10;
constexpr unsigned kAllRights = 7;

unsigned little_endian(Bytes two) {
    return std::to_integer<unsigned>(two[0]) | (std::to_integer<unsigned>(two[1]) << 8U);
}

/// True for errors that are ignored: the file system or the caller's rights don't allow the
/// attribute, or it does not fit beside a file, since ext4 has 4 KiB for all attributes of one.
/// (On a full disk, or beyond a quota, the file itself fails, too.)
bool is_left_out(int cause) {
    return cause == EOPNOTSUPP || cause == EPERM || cause == EACCES || cause == EINVAL ||
           cause == ENOSPC || cause == EDQUOT || cause == E2BIG || cause == ERANGE ||
           cause == ENOSYS || cause == ENODATA || cause == ENAMETOOLONG;
}

std::string proc_path(int directory, const std::string& name) {
    return "/proc/self/fd/" + std::to_string(directory) + '/' + name;
}

void limit_group(int fd, const TreeNode& node, Bytes acl) {
    const unsigned group = group_rights(acl).value_or(0);
    const mode_t mode = (node.mode & 0707U) | (group << 3U);
    static_cast<void>(::fchmod(fd, mode));
}

bool is_acl(const TreeAttribute& attribute) {
    return attribute.name == kAccessAcl || attribute.name == kDefaultAcl;
}

bool set_attribute(int fd, const TreeAttribute& attribute) {
    const auto& [name, value] = attribute;
    return ::fsetxattr(fd, name.c_str(), value.data(), value.size(), 0) == 0;
}

/// Reads the attributes that `list` names, with `get`.
template <class List, class Get>
std::vector<TreeAttribute> attributes_by(List list, Get get) {
    std::vector<TreeAttribute> attributes;
    std::array<char, 4096> quick{};
    ssize_t length = list(quick.data(), quick.size());
    std::string names{quick.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
    if (length < 0 && errno == ERANGE) {
        names.resize(kMaxAttributeBytes);
        length = list(names.data(), names.size());
        names.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    }
    for (std::size_t at = 0; at < names.size();) {
        const std::string one = names.substr(at, names.find('\0', at) - at);
        at += one.size() + 1;
        if (!is_carried(one) || attributes.size() == kMaxTreeAttributes) {
            continue;
        }
        std::vector<std::byte> value(kMaxAttributeBytes);
        const ssize_t size = get(one.c_str(), value.data(), value.size());
        if (size >= 0) {
            value.resize(static_cast<std::size_t>(size));
            attributes.push_back({.name = one, .value = std::move(value)});
        }
    }
    std::ranges::sort(attributes, {}, &TreeAttribute::name);
    return attributes;
}

}  // namespace

std::optional<unsigned> group_rights(Bytes acl) {
    if (acl.size() < kAclHeadBytes || (acl.size() - kAclHeadBytes) % kAclEntryBytes != 0) {
        return std::nullopt;
    }
    std::optional<unsigned> group;
    unsigned mask = kAllRights;
    for (std::size_t at = kAclHeadBytes; at < acl.size(); at += kAclEntryBytes) {
        const unsigned tag = little_endian(acl.subspan(at, 2));
        const unsigned rights = little_endian(acl.subspan(at + 2, 2)) & kAllRights;
        if (tag == kAclGroup) {
            group = rights;
        } else if (tag == kAclMask) {
            mask = rights;
        }
    }
    return group ? std::optional{*group & mask} : std::nullopt;
}

TreeNode without_owner(TreeNode node) {
    for (const TreeAttribute& attribute : node.attributes) {
        if (attribute.name == kAccessAcl) {
            const unsigned group = group_rights(attribute.value).value_or(0);
            node.mode = static_cast<std::uint16_t>((node.mode & 01707U) | (group << 3U));
        }
    }
    std::erase_if(node.attributes, is_acl);
    node.mode &= static_cast<std::uint16_t>(~kSetIdBits);
    node.uid = 0;
    node.gid = 0;
    return node;
}

Error set_id_refused(const std::string& path) {
    return Error{Blame::node,
                 path +
                     ": has the set-user-id or set-group-id bit, which pushes to this node "
                     "do not allow"}
        .remedy(
            "take the bit away (chmod ug-s), or set PushSetId=yes in this node's "
            "stagecast.conf");
}

void clear_inherited_acl(int fd) {
    static_cast<void>(::fremovexattr(fd, kAccessAcl));
    static_cast<void>(::fremovexattr(fd, kDefaultAcl));
    static_cast<void>(!::fchown(fd, static_cast<uid_t>(-1), ::getegid()));
}

void keep_owner_and_mode(int fd, const OwnerAndMode& wanted) {
    constexpr auto kNobodyElse = static_cast<uid_t>(-1);
    if (::geteuid() == 0) {
        static_cast<void>(!::fchown(fd, wanted.uid, wanted.gid));
    } else if (wanted.gid != ::getegid()) {
        static_cast<void>(!::fchown(fd, kNobodyElse, wanted.gid));
    }
    mode_t mode = wanted.mode;
    struct stat now {};
    if ((mode & (S_ISUID | S_ISGID)) != 0) {
        const bool is_known = ::fstat(fd, &now) == 0;
        if (!is_known || now.st_uid != wanted.uid) {
            mode &= ~static_cast<mode_t>(S_ISUID);
        }
        if (!is_known || now.st_gid != wanted.gid) {
            mode &= ~static_cast<mode_t>(S_ISGID);
        }
    }
    static_cast<void>(::fchmod(fd, mode));
}

Maker Maker::self() {
    Maker maker{.uid = ::geteuid(), .gid = ::getegid()};
    maker.umask = process_umask().value_or(maker.umask);
    return maker;
}

bool Maker::makes(const TreeNode& node) const {
    return node.uid == uid && node.gid == gid && node.mode <= 0777 &&
           (node.mode & umask) == 0 && node.attributes.empty();
}

bool keep_user_attributes(int fd, const TreeNode& node) {
    return std::ranges::all_of(node.attributes, [&](const TreeAttribute& attribute) {
        return is_acl(attribute) || set_attribute(fd, attribute) || is_left_out(errno);
    });
}

bool keep_attributes(int fd, const TreeNode& node, bool is_made) {
    if (!is_made) {
        if (!keep_user_attributes(fd, node)) {
            return false;
        }
        keep_owner_and_mode(fd, {.uid = node.uid, .gid = node.gid, .mode = node.mode});
    }
    for (const TreeAttribute& attribute : node.attributes) {
        if (!is_acl(attribute) || set_attribute(fd, attribute)) {
            continue;
        }
        if (!is_left_out(errno)) {
            return false;
        }
        if (attribute.name == kAccessAcl) {
            limit_group(fd, node, attribute.value);
        }
    }
    const std::array times{
        timespec{0, UTIME_OMIT},
        timespec{node.mtime.seconds, static_cast<long>(node.mtime.nanoseconds)}};
    static_cast<void>(::futimens(fd, times.data()));
    return true;
}

std::vector<TreeAttribute> read_attributes(int directory, const std::string& name) {
    const std::string path = proc_path(directory, name);
    return attributes_by(
        [&](char* room, std::size_t size) { return ::llistxattr(path.c_str(), room, size); },
        [&](const char* one, void* room, std::size_t size) {
            return ::lgetxattr(path.c_str(), one, room, size);
        });
}

std::vector<TreeAttribute> read_attributes(int fd) {
    return attributes_by(
        [&](char* room, std::size_t size) { return ::flistxattr(fd, room, size); },
        [&](const char* one, void* room, std::size_t size) {
            return ::fgetxattr(fd, one, room, size);
        });
}

}  // namespace stage
