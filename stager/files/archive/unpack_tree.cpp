#include "stager/files/archive/unpack_tree.h"

#include "stager/disk/disk_error.h"
#include "stager/disk/disk_io.h"
#include "stager/spec/amount.h"
#include "transport/base/text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace stage {
namespace {

constexpr std::uint64_t kDiskBlockBytes = 4096;
constexpr int kPlace = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Error against(std::string sentence) {
    return Error{Blame::user, std::move(sentence)}.remedy("make the archive without it");
}

TreeNode attributes_of(const Member& member) {
    TreeNode node;
    node.mtime = member.mtime;
    node.attributes = member.attributes;
    return node;
}

}  // namespace

UnpackTree::UnpackTree(UniqueFd top, std::string path, const UnpackLimits& limits)
    : top_{std::move(top)}, path_{std::move(path)}, limits_{limits} {
}

mode_t UnpackTree::mode_of(const Member& member) const {
    return member.mode & 0777U & ~static_cast<mode_t>(limits_.umask);
}

bool UnpackTree::has_mode_for_now(const Member& member) const {
    const bool lacks_right = !member.attributes.empty() && (member.mode & S_IWUSR) == 0;
    return lacks_right || (mode_of(member) & own_umask_) != 0;
}

Error UnpackTree::failed(const Parts& parts, int cause) const {
    return target_error(parts.empty() ? path_ : path_ + '/' + joined(parts, "/"), cause);
}

/// Called before anything is made of them.
Status UnpackTree::take(std::uint64_t bytes, std::uint64_t inodes) {
    bytes_ += bytes;
    room_ += bytes;
    inodes_ += inodes;
    if (limits_.bytes_max != 0 && bytes_ > limits_.bytes_max) {
        return Error{Blame::user,
                     "it unpacks to more than the " + binary_amount_text(limits_.bytes_max) +
                         " that this site allows"}
            .remedy("stage less, or ask for a larger MaxBytes");
    }
    if (room_ > limits_.bytes_free || inodes_ > limits_.inodes_free) {
        const bool is_bytes = room_ > limits_.bytes_free;
        return target_error(path_, ENOSPC)
            .remedy("the archive unpacks to more than the " +
                    (is_bytes ? binary_amount_text(limits_.bytes_free)
                              : std::to_string(limits_.inodes_free) + " inodes") +
                    " that were free");
    }
    return {};
}

/// Enters the directory that contains the last of `parts`, and makes missing directories.
Status UnpackTree::enter_way_to(const Parts& parts) {
    const std::size_t depth = parts.size() - 1;
    if (way_.size() == depth && std::equal(way_.begin(), way_.end(), parts.begin())) {
        return {};
    }
    // From the point where both paths differ; only the last directory is open, so from the top.
    const bool goes_on =
        depth > way_.size() && std::equal(way_.begin(), way_.end(), parts.begin());
    if (!goes_on) {
        way_.clear();
        here_.reset();
    }
    std::string way = joined(way_, "/");
    for (std::size_t i = way_.size(); i < depth; ++i) {
        way += (way.empty() ? "" : "/") + parts[i];
        if (Status entered = enter(parts[i], way); !entered) {
            way_.clear();
            here_.reset();
            return entered;
        }
        way_.push_back(parts[i]);
    }
    return {};
}

Status UnpackTree::enter(const std::string& name, const std::string& way) {
    UniqueFd next{::openat(here(), name.c_str(), kPlace)};
    if (!next && errno == ENOENT) {
        if (Status made = make_directory(here(), name, way); !made) {
            return made;
        }
        next.reset(::openat(here(), name.c_str(), kPlace));
    }
    if (!next && (errno == ENOTDIR || errno == ELOOP)) {
        return against("lies below '" + way + "', which is a link or a file in the archive");
    }
    if (!next) {
        return failed({way}, errno);
    }
    here_ = std::move(next);
    return {};
}

Status UnpackTree::make_directory(int at, const std::string& name, const std::string& way) {
    if (Status room = take(kDiskBlockBytes, 1); !room) {
        return room;
    }
    if (::mkdirat(at, name.c_str(), 0700) != 0) {
        return failed({way}, errno);
    }
    Member implied;
    implied.mode = 0777;
    implied.is_implied = true;
    directories_.emplace(way, std::move(implied));
    return {};
}

Status UnpackTree::add_directory(const Member& member) {
    if (member.parts.empty()) {
        directories_.insert_or_assign("", member);
        return {};
    }
    if (Status entered = enter_way_to(member.parts); !entered) {
        return entered;
    }
    const std::string& name = member.parts.back();
    const std::string way = joined(member.parts, "/");
    struct stat there {};
    const bool is_there = ::fstatat(here(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
    if (is_there && !S_ISDIR(there.st_mode) && ::unlinkat(here(), name.c_str(), 0) != 0) {
        return failed(member.parts, errno);
    }
    if (!is_there || !S_ISDIR(there.st_mode)) {
        if (Status made = make_directory(here(), name, way); !made) {
            return made;
        }
    }
    directories_.insert_or_assign(way, member);
    return {};
}

/// Enters its directory; an earlier entry of the same name is removed.
Status UnpackTree::make_room_for(const Member& member) {
    if (member.parts.empty()) {
        return against("is the archive's top, but no directory");
    }
    if (Status entered = enter_way_to(member.parts); !entered) {
        return entered;
    }
    if (Status room = take(0, 1); !room) {
        return room;
    }
    left_out_.erase(member.parts);
    const char* name = member.parts.back().c_str();
    if (::unlinkat(here(), name, 0) == 0 || errno == ENOENT) {
        return {};
    }
    if (errno != EISDIR) {
        return failed(member.parts, errno);
    }
    if (::unlinkat(here(), name, AT_REMOVEDIR) != 0) {
        return errno == ENOTEMPTY ? against("replaces a directory that is not empty")
                                  : failed(member.parts, errno);
    }
    directories_.erase(joined(member.parts, "/"));
    return {};
}

Status UnpackTree::add_symlink(const Member& member, const std::string& text) {
    if (Status ready = make_room_for(member); !ready) {
        return ready;
    }
    const char* name = member.parts.back().c_str();
    if (text.empty() || ::symlinkat(text.c_str(), here(), name) != 0) {
        return text.empty() ? against("is a link without a target")
                            : failed(member.parts, errno);
    }
    const std::array times{
        timespec{0, UTIME_OMIT},
        timespec{member.mtime.seconds, static_cast<long>(member.mtime.nanoseconds)}};
    static_cast<void>(::utimensat(here(), name, times.data(), AT_SYMLINK_NOFOLLOW));
    return {};
}

Status UnpackTree::add_hard_link(const Member& member,
                                 const std::vector<std::string>& original) {
    if (original.empty()) {
        return against("is a link to the archive's top");
    }
    if (left_out_.contains(original)) {
        left_out_.insert(member.parts);
        return {};
    }
    if (Status entered = enter_way_to(original); !entered) {
        return entered;
    }
    if (original == member.parts) {  // tar writes this for a file that was given to it twice.
        struct stat there {};
        const char* name = original.back().c_str();
        return ::fstatat(here(), name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
                       !S_ISDIR(there.st_mode)
                   ? Status{}
                   : Status{against("is a link to itself, without a file before it")};
    }
    const UniqueFd from{::fcntl(here(), F_DUPFD_CLOEXEC, 0)};
    if (Status ready = make_room_for(member); !ready) {
        return ready;
    }
    const char* name = original.back().c_str();
    if (from && ::linkat(from.get(), name, here(), member.parts.back().c_str(), 0) == 0) {
        return {};
    }
    const int cause = errno;
    struct stat there {};
    const bool is_file = ::fstatat(from.get(), name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
                         !S_ISDIR(there.st_mode);
    return is_file ? link_error(path_ + '/' + joined(member.parts, "/"), cause)
                   : against("is a link to '" + joined(original, "/") +
                             "', which is not an earlier file of the archive");
}

Status UnpackTree::add_device(const Member& member) {
    if (!limits_.skips_devices) {
        return Error{Blame::user, "is a device, a pipe or a socket"}.remedy(
            "only files, directories and links can be unpacked, take it out, or leave such "
            "members out with the flag no-devices");
    }
    left_out_.insert(member.parts);
    return {};
}

Status UnpackTree::begin_file(const Member& member) {
    if (Status ready = make_room_for(member); !ready) {
        return ready;
    }
    constexpr int kMake = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const mode_t mode = mode_of(member) | (has_mode_for_now(member) ? S_IWUSR : 0U);
    file_.reset(::openat(here(), member.parts.back().c_str(), kMake, mode));
    file_parts_ = member.parts;
    return file_ ? Status{} : Status{failed(member.parts, errno)};
}

Status UnpackTree::write(std::uint64_t offset, Bytes bytes) {
    if (Status room = take(bytes.size(), 0); !room) {
        return room;
    }
    return write_fully(file_.get(), bytes, offset) ? Status{}
                                                   : Status{failed(file_parts_, errno)};
}

Status UnpackTree::end_file(const Member& member, std::uint64_t size) {
    room_ += (kDiskBlockBytes - size % kDiskBlockBytes) % kDiskBlockBytes;
    UniqueFd file = std::move(file_);
    struct stat now {};
    const TreeNode node = attributes_of(member);
    const bool is_short =
        ::fstat(file.get(), &now) == 0 && static_cast<std::uint64_t>(now.st_size) < size;
    if ((is_short && ::ftruncate(file.get(), static_cast<off_t>(size)) != 0) ||
        !keep_user_attributes(file.get(), node)) {
        return failed(member.parts, errno);
    }
    if (has_mode_for_now(member)) {
        static_cast<void>(::fchmod(file.get(), mode_of(member)));  // As of any staged file.
    }
    if (!keep_attributes(file.get(), node, true) || !close_written(file)) {
        return failed(member.parts, errno);
    }
    return {};
}

Status UnpackTree::finish(const FileTime& archive_time) {
    way_.clear();
    here_.reset();
    directories_[""].is_implied = true;
    if (directories_[""].mode == 0) {
        directories_[""].mode = 0777;
    }
    // The members of a directory come after it in this order.
    for (auto one = directories_.rbegin(); one != directories_.rend(); ++one) {
        if (one->second.is_implied) {
            one->second.mtime = archive_time;
        }
        if (Status settled = settle(one->first, one->second); !settled) {
            return settled;
        }
    }
    return {};
}

Status UnpackTree::settle(const std::string& way, const Member& directory) {
    UniqueFd at{::openat(top_.get(), ".", kPlace)};
    for (std::size_t begin = 0; at && begin < way.size();) {
        const std::size_t end = std::min(way.find('/', begin), way.size());
        at.reset(::openat(at.get(), way.substr(begin, end - begin).c_str(), kPlace));
        begin = end + 1;
    }
    at.reset(at ? ::openat(at.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1);
    const TreeNode node = attributes_of(directory);
    if (!at || !keep_user_attributes(at.get(), node)) {
        return failed({way}, errno);
    }
    static_cast<void>(::fchmod(at.get(), mode_of(directory)));
    return keep_attributes(at.get(), node, true) ? Status{} : Status{failed({way}, errno)};
}

}  // namespace stage
