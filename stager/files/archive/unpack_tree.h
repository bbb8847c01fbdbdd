// Creates the entries of an archive below one directory, and nothing anywhere else.
//
// All steps use descriptors: each directory on the path is opened in its parent and never
// through a link, so that an earlier link in the archive cannot redirect a later entry. A later
// entry replaces an earlier one of the same name. As with tar, set-id and sticky bits are
// dropped, and all files belong to the user who unpacks. Everything is counted against the
// limits of the disk and the site before it is made.
#pragma once

#include "stager/files/manifest/attributes.h"
#include "stager/spec/umask.h"
#include "transport/os/unique_fd.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace stage {

/// Limits of the unpacked tree.
struct UnpackLimits {
    std::uint64_t bytes_free = 0;
    std::uint64_t inodes_free = 0;
    std::uint64_t bytes_max = 0;        ///< The site's limit; 0: none.
    std::uint16_t umask = kUsualUmask;  ///< The unpacking user's umask, not this process's.
    bool skips_devices = false;         ///< Devices and pipes are left out; else refused.
};

/// Describes the entry to make.
struct Member {
    std::vector<std::string> parts;  ///< From member_parts(); empty: the top.
    std::uint16_t mode = 0;          ///< 07777.
    FileTime mtime;
    std::vector<TreeAttribute> attributes;
    bool is_implied = false;  ///< A directory that occurs only in the names of other entries.
};

/// Errors caused by the disk have a cause and name the path. Other errors are the archive's;
/// the caller adds the names of the archive and of the entry.
class UnpackTree {
  public:
    /// `path` is the final path of the top, for messages.
    UnpackTree(UniqueFd top, std::string path, const UnpackLimits& limits);

    [[nodiscard]] Status add_directory(const Member& member);
    [[nodiscard]] Status add_symlink(const Member& member, const std::string& text);
    /// `original`: an earlier entry.
    [[nodiscard]] Status add_hard_link(const Member& member,
                                       const std::vector<std::string>& original);
    /// A device or pipe: left out, with later links to it, or refused.
    [[nodiscard]] Status add_device(const Member& member);
    /// begin_file(), then write() in any number, then end_file() make a file.
    [[nodiscard]] Status begin_file(const Member& member);
    [[nodiscard]] Status write(std::uint64_t offset, Bytes bytes);
    /// `size` includes a hole at the end.
    [[nodiscard]] Status end_file(const Member& member, std::uint64_t size);
    /// Sets modes and times of the directories, from the inside out. The top, and directories
    /// that the archive does not contain, get `archive_time`.
    [[nodiscard]] Status finish(const FileTime& archive_time);

  private:
    using Parts = std::vector<std::string>;

    [[nodiscard]] Status enter_way_to(const Parts& parts);
    [[nodiscard]] Status enter(const std::string& name, const std::string& way);
    [[nodiscard]] Status make_directory(int at,
                                        const std::string& name,
                                        const std::string& way);
    [[nodiscard]] Status make_room_for(const Member& member);
    [[nodiscard]] Status settle(const std::string& way, const Member& directory);
    [[nodiscard]] Status take(std::uint64_t bytes, std::uint64_t inodes);
    /// The mode that a process with the user's umask would give it.
    [[nodiscard]] mode_t mode_of(const Member& member) const;
    /// True if the entry is made with another mode first, for its attributes or because of this
    /// process's umask.
    [[nodiscard]] bool has_mode_for_now(const Member& member) const;
    [[nodiscard]] int here() const { return here_ ? here_.get() : top_.get(); }
    [[nodiscard]] Error failed(const Parts& parts, int cause) const;

    UniqueFd top_;
    std::string path_;
    UnpackLimits limits_;
    std::uint16_t own_umask_ = Maker::self().umask;
    Parts way_;      ///< The path of the directory that was entered last,
    UniqueFd here_;  ///< and its descriptor; empty: the top.
    UniqueFd file_;
    Parts file_parts_;
    std::uint64_t bytes_ = 0;
    std::uint64_t room_ = 0;  ///< The disk space that they take.
    std::uint64_t inodes_ = 0;
    std::set<Parts> left_out_;                   ///< Devices and pipes.
    std::map<std::string, Member> directories_;  ///< By path below the top.
};

}  // namespace stage
