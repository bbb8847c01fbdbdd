// How does a member of an archive come to be below a directory, and nothing anywhere else?
//
// By descriptors: each directory on the way is opened in the one above it and never through a
// link, so that a link that came before can't be written through. A later member of a name
// takes the place of an earlier one. What has set-user-id or sticky bits loses them, and all
// belongs to whoever unpacks, as tar does it. All that is made is counted against what the disk
// and the site give, before it is made.
#pragma once

#include "stager/files/manifest/attributes.h"
#include "stager/spec/umask.h"
#include "transport/os/unique_fd.h"

#include <map>
#include <string>
#include <vector>

namespace stage {

/// What an archive may become.
struct UnpackLimits {
    std::uint64_t bytes_free = 0;
    std::uint64_t inodes_free = 0;
    std::uint64_t bytes_max = 0;        ///< The site's word; 0: none.
    std::uint16_t umask = kUsualUmask;  ///< Of the user who unpacks, not of this process.
};

/// What is to be made.
struct Member {
    std::vector<std::string> parts;  ///< member_parts(); empty: the top.
    std::uint16_t mode = 0;          ///< 07777.
    FileTime mtime;
    std::vector<TreeAttribute> attributes;
    bool is_implied = false;  ///< A directory that the archive only has in other's names.
};

/// Errors that the disk is to blame for have a cause and name the path; others are the
/// archive's, and their sentences leave it to the caller to name it and the member.
class UnpackTree {
  public:
    /// `path`: the final one of the top, for sentences.
    UnpackTree(UniqueFd top, std::string path, const UnpackLimits& limits);

    [[nodiscard]] Status add_directory(const Member& member);
    [[nodiscard]] Status add_symlink(const Member& member, const std::string& text);
    /// `original`: of a member that is there.
    [[nodiscard]] Status add_hard_link(const Member& member,
                                       const std::vector<std::string>& original);
    /// A file, then its bytes, then its end.
    [[nodiscard]] Status begin_file(const Member& member);
    [[nodiscard]] Status write(std::uint64_t offset, Bytes bytes);
    /// `size`: with the hole that it may end in.
    [[nodiscard]] Status end_file(const Member& member, std::uint64_t size);
    /// Modes and times of the directories, from the inside out. The archive's own time is that
    /// of the top and of those that it does not have itself.
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
    /// As a process of the user's umask makes it.
    [[nodiscard]] mode_t mode_of(const Member& member) const;
    /// Its mode when it is made is another, for its attributes or because of this process.
    [[nodiscard]] bool has_mode_for_now(const Member& member) const;
    [[nodiscard]] int here() const { return here_ ? here_.get() : top_.get(); }
    [[nodiscard]] Error failed(const Parts& parts, int cause) const;

    UniqueFd top_;
    std::string path_;
    UnpackLimits limits_;
    std::uint16_t own_umask_ = Maker::self().umask;
    Parts way_;      ///< To the directory that was entered last,
    UniqueFd here_;  ///< and it; nothing: the top.
    UniqueFd file_;
    Parts file_parts_;
    std::uint64_t bytes_ = 0;
    std::uint64_t room_ = 0;  ///< What they take of a disk.
    std::uint64_t inodes_ = 0;
    std::map<std::string, Member> directories_;  ///< By path below the top.
};

}  // namespace stage
