#include "stager/files/source/tree_walk.h"

#include "stager/disk/disk_error.h"
#include "stager/disk/open_to_read.h"
#include "stager/files/manifest/attributes.h"
#include "stager/files/manifest/holes.h"
#include "stager/files/manifest/tree_directories.h"
#include "stager/files/source/directory_listings.h"
#include "stager/files/source/source_item.h"
#include "stager/spec/exclusion.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

namespace stage {
namespace {

/// The path below the top of `name` in a directory.
std::string below(const std::string& directory, const std::string& name) {
    return directory.empty() || name.empty() ? directory + name : directory + '/' + name;
}

/// Whether a symbolic link `depth` directories below the tree's top leads out of the tree, so
/// that a copy elsewhere lacks what it leads to. As with rsync's --copy-unsafe-links its text
/// alone decides: it leads out if it is absolute, or if ".." takes it above the top.
bool leads_out(std::string_view text, std::size_t depth) {
    if (text.starts_with('/')) {
        return true;
    }
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find('/'));
        text.remove_prefix(std::min(text.size(), part.size() + 1));
        if (part == ".." && depth == 0) {
            return true;
        }
        if (part == "..") {
            --depth;
        } else if (!part.empty() && part != ".") {
            ++depth;
        }
    }
    return false;
}

class Walk {
  public:
    Walk(const UniqueFd& top,
         std::string path,
         const TreeChoice& choice,
         HeldRoom& room,
         std::chrono::nanoseconds now)
        : path_{std::move(path)},
          choice_{choice},
          room_{room},
          begun_{now},
          tree_{.index = {}, .stamper = TreeStamper{now}, .held = HeldMembers{now}},
          directories_{
              tree_.index, UniqueFd{::fcntl(top.get(), F_DUPFD_CLOEXEC, 0)}, &tree_.followed} {}

    /// In the last walk, files that came meanwhile are left out.
    [[nodiscard]] Result<WalkedTree> run(bool is_last_walk) {
        Status done = add_member({}, 0, directories_.top());
        for (std::uint32_t i = 0; done && i < tree_.index.size(); ++i) {
            if (tree_.index.kind(i) == TreeKind::directory) {
                done = add_members_of(i);
            }
        }
        if (done) {
            done = check_listings(is_last_walk);
        }
        if (!done) {
            return std::move(done).error();
        }
        return std::move(tree_);
    }

    /// True if another walk may succeed, because names came or went during this one.
    [[nodiscard]] bool has_moved() const { return has_moved_; }

  private:
    [[nodiscard]] std::string path_of(std::uint32_t parent, const std::string& name) const {
        const std::string place =
            below(tree_.index.size() == 0 ? "" : tree_.index.path(parent), name);
        return place.empty() ? path_ : path_ + '/' + place;
    }

    [[nodiscard]] Error failed(std::uint32_t parent, const std::string& name) {
        has_moved_ = has_moved_ || errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
        return source_error(path_of(parent, name), errno);
    }

    [[nodiscard]] Status check_listings(bool is_last_walk) {
        for (const DirectoryListings::Changed& changed : listings_.changed(directories_)) {
            if (!is_last_walk || changed.is_gone || has_moved_in(changed)) {
                has_moved_ = true;
                return changed_while_read(path_of(changed.directory, ""),
                                          changed.directory != 0);
            }
        }
        return {};
    }

    /// True if a name that came is not that of a new file: it may have come from a directory of
    /// the tree that was not listed yet.
    [[nodiscard]] bool has_moved_in(const DirectoryListings::Changed& changed) {
        std::set<std::string> known;
        for (std::uint32_t i = 1; i < tree_.index.size(); ++i) {
            const TreeNode node = tree_.index.node(i);
            if (node.parent == changed.directory) {
                known.insert(node.name);
            }
        }
        const int at = directories_.at(changed.directory);
        here_ = tree_.index.path(changed.directory);
        return std::ranges::any_of(changed.names, [&](const std::string& name) {
            struct stat status {};
            if (known.contains(name) ||
                ::fstatat(at, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
                return false;
            }
            return !is_left_out(name, status) && was_there_before(at, name, status);
        });
    }

    /// By when it was made. A file system that does not know that tells when a file was last
    /// written to, and of a directory nothing.
    [[nodiscard]] bool was_there_before(int at,
                                        const std::string& name,
                                        const struct stat& status) const {
        struct statx born {};
        const bool is_known =
            ::statx(at, name.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BTIME, &born) == 0 &&
            (born.stx_mask & STATX_BTIME) != 0;
        const std::chrono::nanoseconds made =
            is_known ? std::chrono::seconds{born.stx_btime.tv_sec} +
                           std::chrono::nanoseconds{born.stx_btime.tv_nsec}
                     : std::chrono::seconds{status.st_mtim.tv_sec} +
                           std::chrono::nanoseconds{status.st_mtim.tv_nsec};
        return made < begun_ || (!is_known && S_ISDIR(status.st_mode));
    }

    [[nodiscard]] Status add_members_of(std::uint32_t directory) {
        const int fd = directories_.at(directory);
        if (fd < 0) {
            return failed(directory, "");
        }
        const auto names = listings_.list(directory, fd);
        if (!names) {
            return failed(directory, "");
        }
        here_ = tree_.index.path(directory);
        for (const std::string& name : *names) {
            if (Status added = add_member(name, directory, fd); !added) {
                return added;
            }
        }
        return {};
    }

    /// True for a name in the directory here_ that the user excludes, or of no use in a copy.
    [[nodiscard]] bool is_left_out(const std::string& name, const struct stat& status) const {
        const bool is_device =
            S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode);
        return S_ISSOCK(status.st_mode) || (is_device && choice_.skips_devices) ||
               (!name.empty() &&
                is_excluded(choice_.excludes, below(here_, name), S_ISDIR(status.st_mode)));
    }

    void remark(const std::string& name, std::uint32_t parent, const struct stat& status) {
        if (S_ISSOCK(status.st_mode)) {
            tree_.sockets.add(path_of(parent, name));
        } else if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) &&
                   !S_ISLNK(status.st_mode)) {
            tree_.devices.add(path_of(parent, name));
        }
    }

    [[nodiscard]] Status add_member(const std::string& name, std::uint32_t parent, int at) {
        struct stat status {};
        const int flags = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;
        if (::fstatat(at, name.c_str(), &status, flags) != 0) {
            return failed(parent, name);
        }
        if (is_left_out(name, status)) {
            remark(name, parent, status);
            return {};
        }
        if (Status followed = follow(name, parent, at, status); !followed) {
            return followed;
        }
        if (is_left_out(name, status)) {  // What a link leads to.
            remark(name, parent, status);
            return {};
        }
        const std::uint32_t index = tree_.index.size();
        if (S_ISREG(status.st_mode)) {
            tree_.held.take(room_, index, at, name, no_follow_, status);
        }
        TreeNode node = described(name, parent, status);
        tree_.newest = index == 0 ? node.mtime : std::max(tree_.newest, node.mtime);
        tree_.stamper.add(status);
        if (Status known = add_kind(node, status, at); !known) {
            return known;
        }
        if (choice_.is_ownerless && node.kind != TreeKind::hard_link) {
            node = without_owner(std::move(node));
        }
        if (Status added = tree_.index.add(node); !added) {
            return std::move(added).error().within(path_of(parent, name));
        }
        note_directory(index, status);
        if (node.is_file()) {
            tree_.set_id |= static_cast<std::uint16_t>(node.mode & kSetIdBits);
        }
        if (node.is_file() && status.st_nlink > 1) {
            originals_.emplace(std::pair{status.st_dev, status.st_ino}, index);
        }
        return {};
    }

    [[nodiscard]] static TreeNode described(const std::string& name,
                                            std::uint32_t parent,
                                            const struct stat& status) {
        TreeNode node;
        node.parent = parent;
        node.name = name;
        node.mode = static_cast<std::uint16_t>(status.st_mode & 07777U);
        node.uid = status.st_uid;
        node.gid = status.st_gid;
        node.mtime = mtime_of(status);
        return node;
    }

    [[nodiscard]] Status add_kind(TreeNode& node, const struct stat& status, int at) {
        if (S_ISLNK(status.st_mode)) {
            return add_text(node, at);
        }
        if (S_ISREG(status.st_mode)) {
            const auto first = originals_.find({status.st_dev, status.st_ino});
            if (status.st_nlink > 1 && first != originals_.end()) {
                node.kind = TreeKind::hard_link;
                node.original = first->second;
                return {};
            }
            node.attributes = attributes_of(node, at);
            return add_file(node, status, at);
        }
        if (!S_ISDIR(status.st_mode)) {
            return Error{Blame::user,
                         path_of(node.parent, node.name) + ": is " +
                             std::string{kind_in_words(status.st_mode)}}
                .remedy(
                    "only files, directories and links can be staged, take it out, or leave "
                    "such members out with the flag no-devices");
        }
        node.attributes = attributes_of(node, at);
        return {};
    }

    [[nodiscard]] std::vector<TreeAttribute> attributes_of(const TreeNode& node, int at) const {
        return no_follow_ != 0 ? read_attributes(at, node.name)
                               : read_attributes(open_to_read(at, node.name).get());
    }

    /// If the name is a link that leads out of the tree, and such links are followed: `status`
    /// becomes that of the file or directory that it leads to.
    [[nodiscard]] Status follow(const std::string& name,
                                std::uint32_t parent,
                                int at,
                                struct stat& status) {
        no_follow_ = O_NOFOLLOW;
        struct stat target {};
        const bool is_taken = S_ISLNK(status.st_mode) && choice_.follows_links &&
                              leads_out(text_of(name, at), depth_of(parent)) &&
                              ::fstatat(at, name.c_str(), &target, 0) == 0 &&
                              (S_ISREG(target.st_mode) || S_ISDIR(target.st_mode));
        if (!is_taken) {
            return {};
        }
        for (std::uint32_t up = parent; S_ISDIR(target.st_mode);
             up = tree_.index.node(up).parent) {
            if (directories_above_[up] == std::pair{target.st_dev, target.st_ino}) {
                return Error{Blame::user,
                             path_of(parent, name) + ": is a link to a directory that it is in"}
                    .remedy("leave it out with exclude=, or leave out follow");
            }
            if (up == 0) {
                break;
            }
        }
        no_follow_ = 0;
        status = target;
        return {};
    }

    void note_directory(std::uint32_t index, const struct stat& status) {
        if (no_follow_ == 0) {
            tree_.followed.insert(index);
        }
        if (choice_.follows_links && S_ISDIR(status.st_mode)) {
            directories_above_[index] = {status.st_dev, status.st_ino};
        }
    }

    /// The text of a link; empty, with errno, if it can't be read.
    [[nodiscard]] static std::string text_of(const std::string& name, int at) {
        std::string text(kMaxLinkTextBytes + 1, '\0');
        const ssize_t length = ::readlinkat(at, name.c_str(), text.data(), text.size());
        text.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
        return text;
    }

    [[nodiscard]] Status add_text(TreeNode& node, int at) {
        node.kind = TreeKind::symlink;
        node.text = text_of(node.name, at);
        if (node.text.empty()) {
            return failed(node.parent, node.name);
        }
        if (leads_out(node.text, depth_of(node.parent))) {
            tree_.outward.add(path_of(node.parent, node.name));
        }
        return {};
    }

    /// The number of directories between a member of `directory` and the top, or the directory
    /// that is a followed link.
    [[nodiscard]] std::size_t depth_of(std::uint32_t directory) const {
        std::size_t depth = 0;
        for (; directory != 0 && !tree_.followed.contains(directory);
             directory = tree_.index.node(directory).parent) {
            ++depth;
        }
        return depth;
    }

    [[nodiscard]] Status add_file(TreeNode& node, const struct stat& status, int at) {
        node.kind = TreeKind::file;
        node.size = static_cast<std::uint64_t>(status.st_size);
        if (node.size == 0) {
            return check_empty(node, at);
        }
        const bool is_own = status.st_uid == user_ && (status.st_mode & S_IRUSR) != 0;
        if (!is_own && user_ != 0 &&
            ::faccessat(at, node.name.c_str(), R_OK, AT_EACCESS) != 0) {
            return failed(node.parent, node.name);
        }
        constexpr std::int64_t kStatBlockBytes = 512;
        return status.st_blocks * kStatBlockBytes < status.st_size ? find_holes(node, at)
                                                                   : Status{};
    }

    [[nodiscard]] Status check_empty(const TreeNode& node, int at) {
        const UniqueFd file = open_to_read(at, node.name, no_follow_);
        return file ? check_really_empty(file.get(), path_of(node.parent, node.name))
                    : Status{failed(node.parent, node.name)};
    }

    /// Examines a file with fewer blocks than bytes: it has holes, or is compressed.
    /// One that is held is examined as it is held; its name may be another file's by now.
    [[nodiscard]] Status find_holes(TreeNode& node, int at) {
        const HeldMember* const held = tree_.held.find(tree_.index.size());
        if (held != nullptr && !held->file) {
            return {};
        }
        const UniqueFd opened =
            held != nullptr ? UniqueFd{} : open_to_read(at, node.name, no_follow_);
        const int file = held != nullptr ? held->file.get() : opened.get();
        if (file < 0) {
            return failed(node.parent, node.name);
        }
        if (auto extents = extents_of(file, node.size)) {
            node.kind = TreeKind::sparse;
            node.extents = *std::move(extents);
        }
        return {};
    }

    std::string path_;
    const TreeChoice& choice_;
    HeldRoom& room_;
    std::chrono::nanoseconds begun_;
    uid_t user_ = ::geteuid();
    WalkedTree tree_;
    TreeDirectories directories_;  ///< Refers to tree_.index.
    DirectoryListings listings_;
    bool has_moved_ = false;
    std::string here_;            ///< The directory that is being listed, below the top.
    int no_follow_ = O_NOFOLLOW;  ///< 0: the member at hand is a link that is followed.
    /// Device and inode of directory nodes, if links are followed.
    std::map<std::uint32_t, std::pair<dev_t, ino_t>> directories_above_;
    /// Maps device and inode of files with several names to their index.
    std::map<std::pair<dev_t, ino_t>, std::uint32_t> originals_;
};

}  // namespace

Result<WalkedTree> walk_tree(const UniqueFd& top,
                             const std::string& path,
                             const TreeChoice& choice,
                             HeldRoom* room) {
    constexpr int kMostWalks = 3;
    for (int walks = 1;; ++walks) {
        HeldRoom left = room != nullptr ? *room : HeldRoom{.bytes = 0, .files = 0};
        Walk walk{top, path, choice, left, std::chrono::system_clock::now().time_since_epoch()};
        Result<WalkedTree> tree = walk.run(/*is_last_walk=*/walks == kMostWalks);
        if (tree && room != nullptr) {
            *room = left;
        }
        if (tree || !walk.has_moved() || walks == kMostWalks) {
            return tree;
        }
    }
}

}  // namespace stage
