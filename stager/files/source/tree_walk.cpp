#include "stager/files/source/tree_walk.h"

#include "stager/disk/disk_error.h"
#include "stager/files/manifest/attributes.h"
#include "stager/files/manifest/holes.h"
#include "stager/files/manifest/tree_directories.h"
#include "stager/files/source/directory_listings.h"
#include "stager/files/source/source_item.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

namespace stage {
namespace {

struct CloseDirectory {
    void operator()(DIR* directory) const { static_cast<void>(::closedir(directory)); }
};

class Walk {
  public:
    Walk(const UniqueFd& top, std::string path, bool is_ownerless)
        : path_{std::move(path)},
          is_ownerless_{is_ownerless},
          directories_{tree_.index, UniqueFd{::fcntl(top.get(), F_DUPFD_CLOEXEC, 0)}} {}

    [[nodiscard]] Result<WalkedTree> run() {
        Status done = add_member({}, 0, directories_.top());
        for (std::uint32_t i = 0; done && i < tree_.index.size(); ++i) {
            if (tree_.index.kind(i) == TreeKind::directory) {
                done = add_members_of(i);
            }
        }
        if (const auto changed = done ? listings_.find_changed(directories_) : std::nullopt) {
            has_moved_ = true;
            done = changed_while_read(path_of(*changed, ""));
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
        const std::string above = tree_.index.size() == 0 ? "" : tree_.index.path(parent);
        return path_ + (above.empty() ? "" : '/' + above) + (name.empty() ? "" : '/' + name);
    }

    [[nodiscard]] Error failed(std::uint32_t parent, const std::string& name) {
        has_moved_ = has_moved_ || errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
        return source_error(path_of(parent, name), errno);
    }

    /// The names, sorted as an index requires; nothing, with errno, if they can't be read.
    [[nodiscard]] static std::optional<std::vector<std::string>> names_in(int directory) {
        UniqueFd fd{::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
        const std::unique_ptr<DIR, CloseDirectory> list{fd ? ::fdopendir(fd.get()) : nullptr};
        if (!list) {
            return std::nullopt;
        }
        static_cast<void>(fd.release());  // The DIR closes the descriptor.
        std::vector<std::string> names;
        errno = 0;
        while (const dirent* entry = ::readdir(list.get())) {  // NOLINT(concurrency-mt-unsafe)
            std::string name{entry->d_name};
            if (name != "." && name != "..") {
                names.push_back(std::move(name));
            }
            errno = 0;
        }
        if (errno != 0) {
            return std::nullopt;
        }
        std::ranges::sort(names);
        return names;
    }

    [[nodiscard]] Status add_members_of(std::uint32_t directory) {
        const int fd = directories_.at(directory);
        if (fd < 0) {
            return failed(directory, "");
        }
        const auto names = listings_.begin(directory, fd) ? names_in(fd) : std::nullopt;
        if (!names) {
            return failed(directory, "");
        }
        for (const std::string& name : *names) {
            if (Status added = add_member(name, directory, fd); !added) {
                return added;
            }
        }
        return {};
    }

    [[nodiscard]] Status add_member(const std::string& name, std::uint32_t parent, int at) {
        struct stat status {};
        const int flags = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;
        if (::fstatat(at, name.c_str(), &status, flags) != 0) {
            return failed(parent, name);
        }
        TreeNode node;
        node.parent = parent;
        node.name = name;
        node.mode = static_cast<std::uint16_t>(status.st_mode & 07777U);
        node.uid = status.st_uid;
        node.gid = status.st_gid;
        node.mtime = mtime_of(status);
        const bool is_first = tree_.index.size() == 0;
        tree_.newest = is_first ? node.mtime : std::max(tree_.newest, node.mtime);
        tree_.stamper.add(status);
        if (Status known = add_kind(node, status, at); !known) {
            return known;
        }
        if (is_ownerless_ && node.kind != TreeKind::hard_link) {
            node = without_owner(std::move(node));
        }
        const std::uint32_t index = tree_.index.size();
        if (Status added = tree_.index.add(node); !added) {
            return std::move(added).error().within(path_of(parent, name));
        }
        if (node.is_file()) {
            tree_.set_id |= static_cast<std::uint16_t>(node.mode & kSetIdBits);
        }
        if (node.is_file() && status.st_nlink > 1) {
            originals_.emplace(std::pair{status.st_dev, status.st_ino}, index);
        }
        return {};
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
            node.attributes = read_attributes(at, node.name);
            return add_file(node, status, at);
        }
        if (!S_ISDIR(status.st_mode)) {
            return Error{Blame::user,
                         path_of(node.parent, node.name) + ": is " +
                             std::string{kind_in_words(status.st_mode)}}
                .remedy("only files, directories and links can be staged, take it out");
        }
        node.attributes = read_attributes(at, node.name);
        return {};
    }

    [[nodiscard]] Status add_text(TreeNode& node, int at) {
        std::string text(kMaxLinkTextBytes + 1, '\0');
        const ssize_t length = ::readlinkat(at, node.name.c_str(), text.data(), text.size());
        if (length < 0) {
            return failed(node.parent, node.name);
        }
        text.resize(static_cast<std::size_t>(length));
        node.kind = TreeKind::symlink;
        node.text = std::move(text);
        return {};
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

    [[nodiscard]] static UniqueFd open_file(const TreeNode& node, int at) {
        return UniqueFd{::openat(
            at, node.name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
    }

    [[nodiscard]] Status check_empty(const TreeNode& node, int at) {
        const UniqueFd file = open_file(node, at);
        return file ? check_really_empty(file.get(), path_of(node.parent, node.name))
                    : Status{failed(node.parent, node.name)};
    }

    /// Examines a file with fewer blocks than bytes: it has holes, or is compressed.
    [[nodiscard]] Status find_holes(TreeNode& node, int at) {
        const UniqueFd file = open_file(node, at);
        if (!file) {
            return failed(node.parent, node.name);
        }
        if (auto extents = extents_of(file.get(), node.size)) {
            node.kind = TreeKind::sparse;
            node.extents = *std::move(extents);
        }
        return {};
    }

    std::string path_;
    bool is_ownerless_;
    uid_t user_ = ::geteuid();
    WalkedTree tree_;
    TreeDirectories directories_;  ///< Refers to tree_.index.
    DirectoryListings listings_;
    bool has_moved_ = false;
    /// Maps device and inode of files with several names to their index.
    std::map<std::pair<dev_t, ino_t>, std::uint32_t> originals_;
};

}  // namespace

Result<WalkedTree> walk_tree(const UniqueFd& top, const std::string& path, bool is_ownerless) {
    constexpr int kMostWalks = 3;
    for (int walks = 1;; ++walks) {
        Walk walk{top, path, is_ownerless};
        Result<WalkedTree> tree = walk.run();
        if (tree || !walk.has_moved() || walks == kMostWalks) {
            return tree;
        }
    }
}

}  // namespace stage
